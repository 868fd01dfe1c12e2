"""The way of large things between a trial's workers and the results folder: checkpoints and models."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class Courier(Protocol):
    """Carries whole folders. Names are relative to the results, with slashes: `models/KEY`. It can be pickled."""

    def send(self, folder: Path, name: str) -> None:
        """Copy a local folder there. What is already there is replaced; a reader sees all of the old or all of the new.
        When it returns, the copy survives this process. `OSError` where it cannot be written."""

    def fetch(self, name: str, folder: Path) -> bool:
        """Copy what is there into a local folder; False where there is nothing."""

    def remove(self, name: str) -> None:
        """Remove it, if it is there."""
