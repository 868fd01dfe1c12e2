"""Checks whether a record can be right: its scores are within their range, and its hash is that of its recipe.

The types of the record's fields were checked when the record was read (`trainables.record_parts`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reports.ledger.json_files import as_recipe
from reports.ledger.record import Record
from trainables.errors import UserError
from trainables.recipe import Recipe
from trainables.senteval.tasks import TASKS, kind_of

_NO_SCORES = ("examples", "seconds")
"""Entries among a task's scores that are not scores themselves."""
ROUNDING = 1e-6
"""A score may be outside its range by this many points because of rounding."""


def checked(record: Record, read_digests: Callable[[], Mapping[str, str]] = dict) -> Record:
    """Return the record with a complete recipe, in which newer keys have their defaults and moved files their new
    paths.

    `read_digests` returns `StudyInfo.places`, the digests of files that are gone or have changed. Raise `UserError` if
    the hash or a score cannot be right.
    """
    recipe = _recipe(record, read_digests)
    for problem in _scores(record):
        raise UserError(problem)
    return dataclasses.replace(record, recipe=recipe)


def _recipe(record: Record, read_digests: Callable[[], Mapping[str, str]]) -> dict[str, Any]:
    try:
        recipe = Recipe.from_flat(as_recipe(record.recipe))
    except (UserError, TypeError, ValueError) as error:
        raise UserError(f"its recipe is none: {error}") from None
    if record.recipe_hash != recipe.hash:
        moved = recipe.relocate(digests := read_digests())
        if record.recipe_hash == moved.hash:
            return dict(moved.flat())
        if record.recipe_hash != recipe.hash_with(digests):
            raise UserError(f"its hash is not its recipe's, which is {recipe.hash}")
    return dict(recipe.flat())


def _scores(record: Record) -> Iterator[str]:
    for number, evaluation in enumerate(record.evaluations):
        yield from _of_scores(evaluation.scores, f"evaluations[{number}].scores")
    for width, scores in record.data.get("widths", {}).items():
        yield from _of_scores(scores, f"data.widths.{width}")


def _of_scores(scores: Mapping[str, Mapping[str, Any]], where: str) -> Iterator[str]:
    for task, numbers in scores.items():
        for name, value in numbers.items():
            low, high = (
                kind_of(task).range_of(name) if task in TASKS and name not in _NO_SCORES else (-math.inf, math.inf)
            )
            if isinstance(value, int | float) and not low - ROUNDING <= value <= high + ROUNDING:
                yield f"{where}.{task}.{name} is {value:g}, which lies outside {low:g} to {high:g}"
