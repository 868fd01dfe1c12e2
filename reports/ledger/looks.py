"""The looks taken at a study, a file each. `reports.facts.looks` defines a look."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from reports.ledger.folders import LOOKS
from reports.ledger.json_files import read_whole
from trainables.typed_json import matching


@dataclass(frozen=True)
class LookFile:
    """The content of a look's file."""

    at: Annotated[str, matching(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00", "a time of UTC in ISO format")]
    """When the look was first taken."""


def look_names(folder: Path) -> list[str]:
    """Return the names of all looks in a results folder, sorted by time. Raise `UserError` for a malformed file."""
    files = (folder / LOOKS).glob("*.json")
    return [
        name for _, name in sorted((read_whole(LookFile, path, "a look at a study").at, path.stem) for path in files)
    ]
