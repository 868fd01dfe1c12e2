"""Whether a record can be right: its scores lie within their range, and its hash is its recipe's.

That each field is of its type was checked when it was read (`trainables.record_parts`).
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

_BESIDE = ("examples", "seconds")
"""What stands beside a task's numbers."""
ROUNDING = 1e-6
"""So far, in points, rounding may lift a score above 100."""


def checked(record: Record, places: Callable[[], Mapping[str, str]] = dict) -> Record:
    """The record with a whole recipe: keys that are newer than it at their defaults, files that were moved where they
    are now. `places`: what the files held that the study named, for those that are gone or have changed.

    Raises `UserError` with what cannot be right.
    """
    recipe = _recipe(record, places)
    for problem in _scores(record):
        raise UserError(problem)
    return dataclasses.replace(record, recipe=recipe)


def _recipe(record: Record, places: Callable[[], Mapping[str, str]]) -> dict[str, Any]:
    try:
        recipe = Recipe.from_flat(as_recipe(record.recipe))
    except (UserError, TypeError, ValueError) as error:
        raise UserError(f"its recipe is none: {error}") from None
    if record.recipe_hash != recipe.hash:
        moved = recipe.found_again(digests := places())
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
            low, high = kind_of(task).range_of(name) if task in TASKS and name not in _BESIDE else (-math.inf, math.inf)
            if isinstance(value, int | float) and not low - ROUNDING <= value <= high + ROUNDING:
                yield f"{where}.{task}.{name} is {value:g}, which lies outside {low:g} to {high:g}"
