"""What a trial tells while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


class Reporter:
    """Who is told. The default tells nobody; Ray's worker overrides it."""

    wants_rungs = False
    """Whether a development score is computed at every rung, for a scheduler that may stop the trial."""

    def step(self, step: int, scalars: Mapping[str, float]) -> None:
        """After each step, on the first worker."""

    def rung(self, number: int, score: float | None, checkpoint: Path | None) -> bool:
        """On every worker at a rung; score and checkpoint are the first worker's. False ends the trial."""
        return True
