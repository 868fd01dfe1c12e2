"""Why trials could not run, as a results folder tells it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reports.ledger.folders import FAILURES, is_key, split_key
from reports.ledger.json_files import read_whole
from trainables.errors import UserError


@dataclass(frozen=True)
class Failure:
    """A trial that could not run."""

    key: str
    recipe_hash: str
    seed: int
    name: str
    """What people call the trial."""
    reason: str


@dataclass(frozen=True)
class _Said:
    """What such a file holds."""

    name: str = ""
    reason: str = ""


def read_failures(results: Path) -> list[Failure]:
    """In the order of their keys. A file that names no trial is none; one that cannot be read says so as the reason."""
    found = []
    for path in sorted((results / FAILURES).glob("*.json")):
        if not is_key(path.stem):
            continue
        recipe_hash, seed = split_key(path.stem)
        try:
            said = read_whole(_Said, path, "the reason of a failure")
        except UserError as error:
            said = _Said(reason=str(error))
        name, reason = said.name or f"explored {recipe_hash}", said.reason or "no reason was kept"
        found.append(Failure(path.stem, recipe_hash, seed, name, reason))
    return found
