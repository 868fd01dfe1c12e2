"""What a teacher says of an anchor's texts, as files hold it, in one form: a number for each text, or for each negative
by how much the positive is nearer.

    teacher_says({"query": "q", "pos": ["a"], "neg": ["b"], "pos_scores": [9.1], "neg_scores": [2.5]}, columns, where)
    # [9.1, 2.5]; of {"query": "q", "positive": "a", "negative": "b", "label": 6.6}: [6.6]

Only differences between the texts of one anchor are ever learned, so that a margin m is as good as the scores 0 and -m.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trainables.errors import UserError, point_hint, shown
from trainables.tabular import as_number, no_number, texts_of

SIDES = ("positive", "negative")
ROLES = ("teacher", "positive_scores", "negative_scores")
"""Of the columns that may hold it."""
WIDEST = 2.0
"""How far two cosines can be from each other."""


def teacher_says(record: Mapping[str, Any], columns: Mapping[str, Sequence[str]], where: str) -> list[float | None]:
    """The scores of all texts of a row, the positives first, or the margins of all its negatives to its one positive;
    None where a number is missing. Nothing where no column of a teacher has any. `UserError` for as many numbers as fit
    neither, and for what is no number."""
    if columns.keys().isdisjoint(ROLES):  # as of most files
        return []
    positives, negatives = (
        [bool(texts_of(cell)) for name in columns.get(role, ()) for cell in _cells(record.get(name))] for role in SIDES
    )
    numbers_of = {role: [n for name in columns.get(role, ()) for n in _numbers(record, name, where)] for role in ROLES}
    parts = [(numbers_of["positive_scores"], positives), (numbers_of["negative_scores"], negatives)]
    if "teacher" in columns:
        margins = len(positives) == 1 and len(numbers_of["teacher"]) == len(negatives)
        parts = [(numbers_of["teacher"], negatives if margins else [*positives, *negatives])]
    if any(numbers and len(numbers) != len(texts) for numbers, texts in parts):
        raise UserError(
            f"{where}: {' and '.join(name for role in ROLES for name in columns.get(role, ()))} holds "
            f"{' and '.join(str(len(numbers)) for numbers, _ in parts)} numbers for {len(positives)} positives and "
            f"{len(negatives)} negatives; it takes a score for each of these, the positives first, or of one positive "
            "its margin to each negative"
        )
    scores = [
        number
        for numbers, texts in parts
        for number, has_text in zip(numbers or [None] * len(texts), texts, strict=True)
        if has_text
    ]
    return scores if any(score is not None for score in scores) else []


def scores_of(teacher: Sequence[float | None], positives: int, negatives: int) -> list[float]:
    """A score for each text, the positives first: NaN where none is known; of margins the positive has 0."""
    numbers = [math.nan if number is None else number for number in teacher]
    if not numbers:
        return [math.nan] * (positives + negatives)
    return numbers if len(numbers) == positives + negatives else [0.0, *(-number for number in numbers)]


def divisor(scores: np.ndarray, anchor: np.ndarray) -> float:  # (pairs,) each
    """By which scores differ within an anchor as cosines do: where some are farther apart than any two cosines, as
    logits are, it makes the farthest 1 apart."""
    finite = np.isfinite(scores)
    ends = np.full((2, anchor.max(initial=0) + 1), -np.inf)
    for end, values in zip(ends, (scores, -scores), strict=True):
        np.maximum.at(end, anchor[finite], values[finite])
    widest = float(ends.sum(axis=0).max(initial=0.0))
    return widest if widest > WIDEST else 1.0


def _cells(cell: Any) -> list[Any]:
    return cell if isinstance(cell, list) else [cell]


def _numbers(record: Mapping[str, Any], name: str, where: str) -> list[float | None]:
    """Those of a column that holds one or a list; none for an empty cell."""
    cell = record.get(name)
    return [] if no_number(cell) else [_number(item, name, where) for item in _cells(cell)]


def _number(cell: Any, name: str, where: str) -> float | None:
    number = as_number(cell)
    if number is None and not no_number(cell):
        raise UserError(f"{where}: {name} holds {shown(cell)}, and what a teacher says is a number{point_hint(cell)}")
    return number
