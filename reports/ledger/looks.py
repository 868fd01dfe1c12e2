"""The files of the looks at a study. A look is a report that may contain verdicts (`reports.facts.looks`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from reports.ledger.folders import LOOKS
from reports.ledger.json_files import read_whole
from trainables.typed_json import matching


@dataclass(frozen=True)
class LookFile:
    """The content of the file of one look."""

    at: Annotated[str, matching(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00", "a time of UTC in ISO format")]
    """When a report was first written from the look's trials."""


def look_names(folder: Path) -> list[str]:
    """Return the names of all looks in a results folder, sorted by time. Raise `UserError` for a malformed file."""
    files = (folder / LOOKS).glob("*.json")
    return [
        name for _, name in sorted((read_whole(LookFile, path, "a look at a study").at, path.stem) for path in files)
    ]
