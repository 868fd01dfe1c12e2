"""The score over one key, with all other keys as they are in the study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reports.importance.coding import NOT_APPLICABLE, Array, code
from reports.importance.forest import Folds
from search_spaces.space import Domain
from trainables.recipe import Value

POINTS = 9
"""Number of points of a curve over a numeric range."""


@dataclass(frozen=True)
class KeyCurve:
    """Mean prediction of the fitted forests for each value of the key. `low`, `high`: lowest and highest prediction."""

    key: str
    values: tuple[Value, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    tried: tuple[tuple[Value, float], ...]
    """For each recipe to which the key applies: the key's value and the recipe's score."""
    log: bool


def curves(
    folds: Folds, columns: Sequence[int], scores: Array, tried: Sequence[Sequence[Value]]
) -> tuple[KeyCurve, ...]:
    """Return the curve of each column. `tried`: for each column, the key's value in each recipe."""
    coded = folds.coded
    donors = coded.donors(np.random.default_rng(2))
    fits = [folds.trees(part, scores) for part in folds.parts] if columns else []
    drawn = []
    for column in columns:
        domain = coded.domains[column]
        in_use = coded.values[:, column] != NOT_APPLICABLE
        own = [value for value, is_used in zip(tried[column], in_use, strict=True) if is_used]
        values = _grid(domain, own)
        predicted = np.empty((len(fits), len(values)))
        for index, value in enumerate(values):
            moved = donors[in_use].copy()
            moved[:, column] = code(domain, value)
            rows = coded.swapped(coded.values[in_use], column, moved)
            predicted[:, index] = [folds.predict(trees, rows).mean() for trees in fits]
        mean, low, high = (
            tuple(line.tolist()) for line in (predicted.mean(axis=0), predicted.min(axis=0), predicted.max(axis=0))
        )
        points = tuple(zip(own, scores[in_use].tolist(), strict=True))
        drawn.append(KeyCurve(domain.key, tuple(values), mean, low, high, points, domain.log))
    return tuple(drawn)


def _grid(domain: Domain, tried: Sequence[Value]) -> list[Value]:
    """The tried choices, or points over the tried range; whole numbers if the domain has whole numbers."""
    if domain.choices:
        return [value for value in domain.choices if value in tried]
    numbers = [float(value) for value in tried if isinstance(value, int | float)]
    make = np.geomspace if domain.log else np.linspace
    points = make(min(numbers), max(numbers), POINTS).tolist()
    whole = isinstance(domain.low, int) and isinstance(domain.high, int)
    return list(dict.fromkeys(round(point) for point in points)) if whole else list(points)
