"""What chance does to the analysis: results for shuffled scores, and for random samples of the recipes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reports.importance.coding import Array, Coded
from reports.importance.forest import Folds, OutOfSample

SHUFFLES = 99
"""Number of shuffles: the smallest p value is one in a hundred."""
SUBSETS, LEFT_OUT = 25, 0.2
"""Number of random subsets of the recipes for the intervals, and the share of recipes that each subset leaves out."""


def under_chance(folds: Folds, scores: Array) -> list[OutOfSample]:
    """Return the results for each shuffle of the scores over the recipes."""
    chance = np.random.default_rng(1)
    return [folds.cross_validate(chance.permutation(scores)) for _ in range(SHUFFLES)]


def family_p(measured: Array, by_chance: Array) -> Array:
    """(effects,) For each effect, how often chance gives any effect as strong; `by_chance` is (shuffles, effects).

    Each effect is first divided by its own spread under chance, since a key of many values gains more by chance than a
    key of two. The measured effects count as one more shuffle, which makes the level exact (Westfall and Young).
    """
    if not measured.size:
        return np.ones(0)
    every = np.vstack([measured, by_chance])
    spread = every.std(axis=0)
    scaled = (every - every.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.asarray((scaled.max(axis=1)[:, None] >= scaled[0]).mean(axis=0))


def one_p(measured: float, by_chance: Sequence[float]) -> float:
    """Return how often shuffled scores give at least the measured value."""
    return (1 + sum(other >= measured for other in by_chance)) / (1 + len(by_chance))


def errors(folds: Folds, scores: Array) -> Array:
    """(1 + keys,) Standard errors of `OutOfSample.figures`: a jackknife that leaves out a fifth of the recipes.

    An error over the held-out recipes alone would take the fits as fixed, and be half as large as it should be.
    """
    chance = np.random.default_rng(3)
    size = len(scores)
    subsets = []
    for _ in range(SUBSETS):
        rows = np.sort(chance.permutation(size)[: size - round(LEFT_OUT * size)])
        part = Folds(Coded(folds.coded.domains, folds.coded.values[rows]))
        subsets.append(part.cross_validate(scores[rows]).figures)
    return np.asarray(np.sqrt((1 - LEFT_OUT) / LEFT_OUT * np.var(subsets, axis=0, ddof=1)))
