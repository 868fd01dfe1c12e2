"""A teacher's scores of an anchor's texts, read from files into one form: a score for each text, or a margin for each
negative, which is the positive's score less the negative's.

    read_teacher({"query": "q", "pos": ["a"], "neg": ["b"], "pos_scores": [9.1], "neg_scores": [2.5]}, columns, where)
    # [9.1, 2.5]; of {"query": "q", "positive": "a", "negative": "b", "label": 6.6}: [6.6]

Only differences between the texts of one anchor are learned, so a margin m is as good as the scores 0 and -m.
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
"""Roles of the columns that may contain a teacher's scores."""
MAX_COSINE_DIFFERENCE = 2.0
"""Largest difference between two cosines."""


def read_teacher(record: Mapping[str, Any], columns: Mapping[str, Sequence[str]], where: str) -> list[float | None]:
    """Return the scores of all texts of a row, the positives first, or the margins of all negatives to the only
    positive. A missing number is None; the list is empty if no teacher's column has a number. `UserError` if the number
    of values fits neither, or a value is no number."""
    if columns.keys().isdisjoint(ROLES):  # most files
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
    """Return a score for each text, the positives first. NaN: unknown. From margins, the positive has score 0."""
    numbers = [math.nan if number is None else number for number in teacher]
    if not numbers:
        return [math.nan] * (positives + negatives)
    return numbers if len(numbers) == positives + negatives else [0.0, *(-number for number in numbers)]


def divisor(scores: np.ndarray, anchor: np.ndarray) -> float:  # (pairs,) each
    """Return the divisor that brings scores to the scale of cosines: 1, unless two scores of one anchor differ by more
    than two cosines can, as logits do. Then it is the largest such difference."""
    finite = np.isfinite(scores)
    ends = np.full((2, anchor.max(initial=0) + 1), -np.inf)
    for end, values in zip(ends, (scores, -scores), strict=True):
        np.maximum.at(end, anchor[finite], values[finite])
    widest = float(ends.sum(axis=0).max(initial=0.0))
    return widest if widest > MAX_COSINE_DIFFERENCE else 1.0


def _cells(cell: Any) -> list[Any]:
    return cell if isinstance(cell, list) else [cell]


def _numbers(record: Mapping[str, Any], name: str, where: str) -> list[float | None]:
    """Return the numbers of a cell with one number or a list; none for an empty cell."""
    cell = record.get(name)
    return [] if no_number(cell) else [_number(item, name, where) for item in _cells(cell)]


def _number(cell: Any, name: str, where: str) -> float | None:
    number = as_number(cell)
    if number is None and not no_number(cell):
        raise UserError(f"{where}: {name} holds {shown(cell)}, and what a teacher says is a number{point_hint(cell)}")
    return number
