"""What a trial tells while it runs, and what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trainables.training.rungs import RungPlan


class Reporter:
    """Receives what a trial tells. This one ignores it; the study's worker overrides it. All methods but `begin` are
    called on the first worker only; what they answer goes to the others with the training's own exchanges."""

    rung_plan: RungPlan | None = None
    """Where the training pauses for development scores, for a scheduler that may stop the trial."""

    def begin(self, steps: int) -> None:
        """Before the first step: how many the training has."""

    def step(self, step: int, scalars: Mapping[str, float]) -> None:
        """After each step; in a population after about every hundredth part of the steps, and after the last.
        `scalars`: `loss` (`loss/0`, `loss/1`... of members), `learning_rate`, `steps_per_second`,
        `tokens_per_second`, and counts of the objective."""

    def rung(self, number: int, scores: Mapping[str, float]) -> bool:
        """At a rung of a single trial what `rung_plan` measures there, by name, where there is data for all of it.
        False ends the trial. A rung may be told again after a resume."""
        return True

    def wants_checkpoint(self) -> bool:
        """Asked after each step, unless a checkpoint is on its way: whether one is wanted now, whenever the last was.
        It is taken after the next step at the latest. It must be quick."""
        return False

    def checkpoint(self, folder: Path) -> bool:
        """A checkpoint was written into the folder, which is gone after this call. False ends the training here: it
        goes on from this checkpoint in another process (`Interrupted`)."""
        return True
