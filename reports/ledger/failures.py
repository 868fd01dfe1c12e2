"""Reads the reasons why trials could not run, from the folder `failures` of the results."""

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
    """The trial's key. The key, `recipe_hash` and `seed` are read from the file's name."""
    recipe_hash: str = ""
    seed: int = 0
    name: str = ""
    """The trial's name in reports and messages: a row's label, or the search's name for the recipe."""
    reason: str = ""
    recipe: dict[str, Any] = field(default_factory=dict)
    """The flat recipe; empty if the file has none."""


def read_failures(results: Path) -> list[Failure]:
    """Return all failures, sorted by key. Files whose names are not trial keys are skipped. A file that cannot be read
    gives a failure with the error as its reason."""
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
