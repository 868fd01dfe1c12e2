"""What the analysis finds by chance: in shuffled scores, and with other recipes of the same kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reports.importance.coding import Array, Coded
from reports.importance.forest import Folds, OutOfSample

SHUFFLES = 99
"""The smallest p value is one in a hundred."""
SUBSETS, LEFT_OUT = 25, 0.2
"""So many subsets for the intervals, each without that part of the recipes."""


def under_chance(folds: Folds, scores: Array) -> list[OutOfSample]:
    """The analysis of scores that were shuffled over the recipes."""
    chance = np.random.default_rng(1)
    return [folds.held(chance.permutation(scores)) for _ in range(SHUFFLES)]


def family_p(measured: Array, by_chance: Array) -> Array:
    """(effects,) Of each effect, how often chance gives any effect as strong; `by_chance` is (shuffles, effects).

    Effects are first divided by their own spread under chance, since a key of many values gains more by chance than
    one of two. The found ones count as one more shuffle, which makes the level exact (Westfall and Young).
    """
    if not measured.size:
        return np.ones(0)
    every = np.vstack([measured, by_chance])
    spread = every.std(axis=0)
    scaled = (every - every.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.asarray((scaled.max(axis=1)[:, None] >= scaled[0]).mean(axis=0))


def one_p(measured: float, by_chance: Sequence[float]) -> float:
    """How often chance gives as much."""
    return (1 + sum(other >= measured for other in by_chance)) / (1 + len(by_chance))


def errors(folds: Folds, scores: Array) -> Array:
    """(1 + keys,) Standard errors of `OutOfSample.figures`: a jackknife that leaves out a fifth of the recipes.

    An error over the held-out recipes alone would take the fits for given, and be half as large as it should be.
    """
    chance = np.random.default_rng(3)
    size = len(scores)
    subsets = []
    for _ in range(SUBSETS):
        rows = np.sort(chance.permutation(size)[: size - round(LEFT_OUT * size)])
        part = Folds(Coded(folds.coded.domains, folds.coded.values[rows]))
        subsets.append(part.held(scores[rows]).figures)
    return np.asarray(np.sqrt((1 - LEFT_OUT) / LEFT_OUT * np.var(subsets, axis=0, ddof=1)))
