"""Whether a record can be right: its numbers are numbers within their range, and its hash is its recipe's.

That each field is of its type was checked when it was read (`trainables.typed_json`).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reports.ledger.json_files import as_recipe
from reports.ledger.record import Record
from trainables.errors import UserError
from trainables.recipe import Recipe
from trainables.typed_json import LARGEST

ROUNDING = 1e-6
"""So far, in points, rounding may lift a score above 100."""
_SHARE = re.compile(r"(^|_)(accuracy|f1|recall|r\d+)$")
"""Scores that are shares of test items, and so lie between 0 and 100; others are correlations, from -100."""
_RANK = re.compile(r"_medr$")
"""Scores that are ranks."""
_SUMS = re.compile(
    r"(planned_)?steps|pairs|sentences|tokens|anchors|.*_per_anchor|batches_without_anchor|.*seconds|population"
)
"""What a training counts; a loss may be negative, and what a plugin sums up."""
_KINDS = ("corpus", "nli", "senteval", "heat_map", "encoder", "overlap", "widths")
"""What `data` may describe, each by an object."""


def checked(record: Record, places: Callable[[], Mapping[str, str]] = dict) -> Record:
    """The record with a whole recipe: keys that are newer than it at their defaults, files that were moved where they
    are now. `places`: what the files held that the study named, for those that are gone or have changed.

    Raises `UserError` with what cannot be right.
    """
    recipe = _recipe(record, places)
    for problem in (*_scores(record), *_counts(record), *_data(record)):
        raise UserError(problem)
    return dataclasses.replace(record, recipe=recipe)


def _recipe(record: Record, places: Callable[[], Mapping[str, str]]) -> dict[str, Any]:
    try:
        recipe = Recipe.from_flat(as_recipe(record.recipe))
    except (UserError, TypeError, ValueError) as error:
        raise UserError(f"its recipe is none: {error}") from None
    if record.recipe_hash != recipe.hash:
        moved = recipe.found_again(known := places())
        if record.recipe_hash == moved.hash:
            return dict(moved.flat())
        if record.recipe_hash != recipe.hash_with(known):
            raise UserError(f"its hash is not its recipe's, which is {recipe.hash}")
    return dict(recipe.flat())


def _scores(record: Record) -> Iterator[str]:
    for number, evaluation in enumerate(record.evaluations):
        yield from _of_scores(evaluation.scores, f"evaluations[{number}]")


def _of_scores(scores: Mapping[str, Mapping[str, Any]], evaluation: str) -> Iterator[str]:
    for task, numbers in scores.items():
        for name, value in numbers.items():
            where = f"{evaluation}.scores.{task}.{name}"
            if name == "reason":
                if not isinstance(value, str | None):
                    yield f"{where} is no text"
            elif name == "examples":
                counts = value if isinstance(value, list | tuple) else [value]
                if not all(type(count) is int and count >= 0 for count in counts if count is not None):
                    yield f"{where} is no count"
            elif value is not None:
                if not _is_number(value):
                    yield f"{where} is no number"
                else:
                    low, high = _range(name)
                    if not low - ROUNDING <= value <= high + ROUNDING:
                        yield f"{where} is {value:g}, which lies outside {low:g} to {high:g}"


def _range(name: str) -> tuple[float, float]:
    """Between which numbers a score of that name lies."""
    if name == "seconds" or _RANK.search(name):
        return 0.0, LARGEST
    return (0.0, 100.0) if _SHARE.search(name) else (-100.0, 100.0)


def _counts(record: Record) -> Iterator[str]:
    for kind, values in (
        ("training", record.training),
        ("cost", {name: value for name, value in record.cost.items() if name != "crew"}),
        ("cost.crew", record.cost.get("crew", {})),
        *((f"evaluations[{number}].geometry", found.geometry) for number, found in enumerate(record.evaluations)),
    ):
        if not isinstance(values, Mapping):
            yield f"{kind} is no object"
            continue
        for name, value in values.items():
            where = f"{kind}.{name}"
            if where == "training.kept":
                yield from _kept(value)
            elif where == "training.rungs":
                yield from _rungs(value)
            elif where == "training.chunk":
                if value not in (None, "passes") and not (type(value) is int and value > 0):
                    yield "training.chunk is neither `passes` nor a number of tokens"
            elif name == "stopped" or where.endswith("geometry.sentences"):
                if not isinstance(value, str | None):
                    yield f"{where} is no text"
            elif value is not None and not _is_number(value):
                yield f"{where} is no number"
            elif value is not None and value < 0 and (kind.startswith("cost") or _SUMS.fullmatch(name)):
                yield f"{where} is {value:g}, which is negative"


def _kept(value: Any) -> Iterator[str]:
    said = value if isinstance(value, Mapping) else {}
    steps = {"best": ("step", "scored"), "average": ("from_step", "steps")}.get(str(said.get("keep")))
    if steps is None or not all(type(said.get(name)) is int and said[name] > 0 for name in steps):
        yield "training.kept has not the steps of `best` or `average`"
    elif "scored" in steps and not _is_number(said.get("score")):
        yield "training.kept.score is no number"


def _rungs(value: Any) -> Iterator[str]:
    """The course of a training: rungs that follow each other, each with its scores."""
    last = 0
    for said in value if isinstance(value, list | tuple) else [None]:
        found = said if isinstance(said, Mapping) else {}
        if not all(_is_number(found.get(name)) and found[name] >= 0 for name in ("step", "seconds", "tokens")):
            yield "training.rungs has not the step, seconds and tokens of each rung"
            return
        rung, scores = found.get("rung"), found.get("scores")
        if type(rung) is not int or rung <= last:
            yield f"training.rungs has the rung {rung!r} after {last}"
            return
        if not isinstance(scores, Mapping) or not scores or not all(map(_is_number, scores.values())):
            yield f"training.rungs has no scores at rung {rung}"
            return
        last = rung


def _data(record: Record) -> Iterator[str]:
    for name, value in record.machine.items():
        if not isinstance(value, bool if name == "bf16" else str | None):
            yield f"machine.{name} is {'neither true nor false' if name == 'bf16' else 'no text'}"
    yield from _read(record.data, "data")
    for number, found in enumerate(record.evaluations):
        yield from _read(found.data, f"evaluations[{number}].data")


def _read(data: Mapping[str, Any], where: str) -> Iterator[str]:
    for kind in _KINDS:
        if kind in data and not isinstance(data[kind], Mapping):
            yield f"{where}.{kind} is no object"
            return
    for kind in ("corpus", "nli", "senteval", "encoder"):
        said = data.get(kind, {})
        for name, value in said.items():
            if name in ("source", "fingerprint", "layout", "name") and not isinstance(value, str | None):
                yield f"{where}.{kind}.{name} is no text"
            if name in ("pairs", "documents") and value is not None and not _is_number(value):
                yield f"{where}.{kind}.{name} is no number"
            if _is_number(value) and value < 0:
                yield f"{where}.{kind}.{name} is {value:g}, which is negative"
        if kind == "corpus" and said.get("layout") == "mix" and not _is_mixture(said):
            yield f"{where}.{kind} has not the share, layout, source and fingerprint of each of its parts"
    for width, scores in data.get("widths", {}).items():
        if isinstance(scores, Mapping) and all(isinstance(numbers, Mapping) for numbers in scores.values()):
            yield from _of_scores(scores, f"{where}.widths.{width}")
        else:
            yield f"{where}.widths.{width} has no scores by task"
    for task, counts in data.get("overlap", {}).items():
        if not isinstance(counts, Mapping) or not all(
            type(counts.get(name)) is int and counts[name] >= 0 for name in ("items", "seen")
        ):
            yield f"{where}.overlap.{task} has not the counts items and seen"
        elif counts["seen"] > counts["items"]:
            yield f"{where}.overlap.{task} has seen {counts['seen']} of {counts['items']} items"


def _is_mixture(said: Mapping[str, Any]) -> bool:
    """Whether each corpus of several has its share and its description."""
    parts, shares = said.get("parts"), said.get("shares")
    return (
        isinstance(parts, list | tuple)
        and isinstance(shares, list | tuple)
        and len(parts) == len(shares)
        and all(_is_number(share) and 0 <= share <= 1 for share in shares)
        and all(isinstance(part, Mapping) for part in parts)
        and all(isinstance(part.get(name), str) for part in parts for name in ("layout", "source", "fingerprint"))
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
