"""What trials tell, in tests of their ends."""

from __future__ import annotations

import shutil
from pathlib import Path

from trainables.trial import Reporter


class Leaving(Reporter):
    """Wants a checkpoint after a step, counted from the first of this process, keeps it, and ends the training there; a
    single trial takes it after the next step. None: it is only a `Reporter`."""

    def __init__(self, after: int | None = None, keep: Path | None = None) -> None:
        self.after, self.keep = after, keep
        self.calls = 0

    def wants_checkpoint(self) -> bool:
        self.calls += 1
        return self.calls == self.after

    def checkpoint(self, folder: Path) -> bool:
        assert self.keep is not None
        shutil.copytree(folder, self.keep)
        return False
