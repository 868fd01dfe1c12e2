"""The callbacks of a running trial."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trainables.training.rungs import RungPlan


class Reporter:
    """Receives events of a trial. This class ignores them; the study's worker overrides it. All methods but `begin`
    are called on the first worker only. Their results reach the other workers by exchanges of the training."""

    rung_plan: RungPlan | None = None
    """The rungs of the training, where it is scored for a scheduler; None: no rungs."""

    def begin(self, steps: int) -> None:
        """Receive the number of steps, before the first step."""

    def step(self, step: int, scalars: Mapping[str, float]) -> None:
        """Receive the numbers of each step; in a population, after about every hundredth part of the steps and after
        the last. `scalars`: `loss` (`loss/0`, `loss/1`... of members), `learning_rate`, `steps_per_second`,
        `tokens_per_second`, and counts of the objective."""

    def rung(self, number: int, scores: Mapping[str, float]) -> bool:
        """Receive the measures of `rung_plan`, by name, at a rung of a single trial, if there is data for all of them.
        Return False to end the trial. After a resume a rung may be repeated."""
        return True

    def wants_checkpoint(self) -> bool:
        """Return whether a checkpoint is wanted now. Called after each step without a pending checkpoint, so it must be
        quick. The checkpoint follows after the next step at the latest."""
        return False

    def checkpoint(self, folder: Path) -> bool:
        """Receive the folder of a checkpoint, which is removed after this call. Return False to end the training; it
        then continues from this checkpoint in another process (`Interrupted`)."""
        return True
