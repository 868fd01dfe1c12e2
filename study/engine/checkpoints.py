"""Checkpoints of an unfinished training in the results: the last two, each with a digest of every file.

A disk or a person may damage checkpoints. A training resumes from the newest undamaged one, so damage costs only the
steps since the checkpoint before, and never changes a score.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reports.ledger.folders import TRAIN
from reports.ledger.storage import files_of
from study.engine.transport import Transport
from trainables.typed_json import parse_json

DIGESTS = "digests.json"
"""A file in each checkpoint: its number, counted from 1, and the SHA-256 of each file."""


class TaskCheckpoints:
    """The checkpoints of one training."""

    def __init__(self, transport: Transport, files: str) -> None:
        """`files` is the name of the training's files in the results."""
        self.transport = transport
        self.folders = checkpoint_folders(files)
        self._number = 0
        """Number of the newest checkpoint."""

    def send(self, folder: Path) -> None:
        """Copy a checkpoint from its local folder into the results, over the older of the two there. `OSError` if it
        cannot be written."""
        content = {"number": self._number + 1, "files": _digests(folder)}
        (folder / DIGESTS).write_text(json.dumps(content))
        self.transport.send(folder, self.folders[self._number % 2])
        self._number += 1

    def fetch(self, folder: Path) -> Path | None:
        """Copy the newest undamaged checkpoint into a subfolder of `folder` and return it; None if there is none."""
        whole: dict[int, Path] = {}
        for slot, name in enumerate(self.folders):
            copy = folder / str(slot)
            if self.transport.fetch(name, copy):
                number = _number(copy, slot)
                if number is None:
                    print(f"the checkpoint {name} is damaged and is passed over", flush=True)
                else:
                    whole[number] = copy
        self._number = max(whole, default=0)
        return whole.get(self._number)


def checkpoint_folders(files: str) -> tuple[str, str]:
    """Return the two folders of a training's checkpoints in the results: for odd checkpoint numbers, then for even."""
    return f"{TRAIN}/{files}", f"{TRAIN}/{files}.second"


def _number(folder: Path, slot: int) -> int | None:
    """Return a checkpoint's number; None if it is damaged. Older versions of this code wrote a single checkpoint
    without digests, whose number is 1."""
    file = folder / DIGESTS
    if not file.exists():
        return 1 if slot == 0 else None
    try:
        content: Any = parse_json(file.read_bytes())
    except ValueError:
        return None
    whole = isinstance(content, Mapping) and content.get("files") == _digests(folder)
    number = content.get("number") if whole else None
    return number if type(number) is int and number % 2 == (slot + 1) % 2 else None


def _digests(folder: Path) -> dict[str, str]:
    digests = {}
    for name, path in files_of(folder).items():
        if name != DIGESTS:
            with open(path, "rb") as file:
                digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests
