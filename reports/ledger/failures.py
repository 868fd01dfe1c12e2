"""Why trials could not run, as a results folder tells it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reports.ledger.folders import FAILURES, is_key, split_key
from reports.ledger.json_files import read_json
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


def read_failures(results: Path) -> list[Failure]:
    """In the order of their keys. A file that names no trial is none; one that cannot be read says so as the reason."""
    found = []
    for path in sorted((results / FAILURES).glob("*.json")):
        if not is_key(path.stem):
            continue
        recipe_hash, seed = split_key(path.stem)
        try:
            content = read_json(path, "the reason of a failure")
        except UserError as error:
            content = {"reason": str(error)}
        name = str(content.get("name") or f"explored {recipe_hash}")
        reason = str(content.get("reason") or "no reason was kept")
        found.append(Failure(path.stem, recipe_hash, seed, name, reason))
    return found
