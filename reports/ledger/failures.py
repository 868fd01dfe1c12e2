"""Why trials could not run, as a results folder tells it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports.ledger.folders import FAILURES, is_key, split_key
from reports.ledger.json_files import as_recipe, read_whole
from trainables.errors import UserError


@dataclass(frozen=True)
class Failure:
    """A trial that could not run."""

    key: str = ""
    """Of its file's name, as is the seed; the file holds the rest."""
    recipe_hash: str = ""
    seed: int = 0
    name: str = ""
    """What people call the trial."""
    reason: str = ""
    recipe: dict[str, Any] = field(default_factory=dict)
    """Flat; empty where nobody noted it."""


def read_failures(results: Path) -> list[Failure]:
    """In the order of their keys. A file that names no trial is none; one that cannot be read says so as the reason."""
    return [_read(path) for path in sorted((results / FAILURES).glob("*.json")) if is_key(path.stem)]


def _read(path: Path) -> Failure:
    try:
        failure = read_whole(Failure, path, "the reason of a failure")
    except UserError as error:
        failure = Failure(reason=str(error))
    recipe_hash, seed = split_key(path.stem)
    return dataclasses.replace(
        failure,
        key=path.stem,
        recipe_hash=recipe_hash,
        seed=seed,
        name=failure.name or f"explored {recipe_hash}",
        reason=failure.reason or "no reason was kept",
        recipe=as_recipe(failure.recipe),
    )
