"""What a trial tells while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


class Reporter:
    """Receives what a trial tells. This one ignores it; Ray's worker overrides it."""

    wants_rungs = False
    """Whether a development score is computed at every rung, for a scheduler that may stop the trial."""

    def begin(self, steps: int) -> None:
        """Before the first step: how many the training has."""

    def step(self, step: int, scalars: Mapping[str, float]) -> None:
        """After each step, on the first worker; in a population after about every hundredth part of the steps."""

    def rung(self, number: int, score: float | None, checkpoint: Path | None) -> bool:
        """On every worker at a rung, with the first worker's score and checkpoint. False ends the trial, but not a
        population."""
        return True
