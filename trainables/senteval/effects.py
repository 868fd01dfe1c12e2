"""Effects of each test item on a score of a task, for one seed's answers: the values of `TaskKind.effects`.

The sum of squares of the effects is the variance of the score over items, in points squared. All are first-order: the
change of the score if one item counted a little more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from trainables.senteval.correlation import Correlation, rank_bounds
from trainables.senteval.ranking import counts_at_or_above

Array = np.ndarray
POINTS = 100.0
Aggregation = Literal["all", "mean", "wmean"]
"""How a correlation uses sub-corpora: over all items, or as the mean over sub-corpora, plain or weighted by size."""


def mean_effects(values: Array, strata: Sequence[int] | None = None) -> Array:
    """Return (items,) effects on a mean over all items, in percent, from (items,) shares from 0 to 1, such as whether
    each answer is correct. `strata`: sizes of the strata, in order, which are fixed when items are resampled."""
    values = np.asarray(values, dtype=float)
    return POINTS * _strata_mean(values, [len(values)] if strata is None else strata)


def accuracy_effects(hits: Array, folds: int | None = None) -> Array:
    """Return (items,) effects on an accuracy, from (items,) whether each answer is correct.

    `folds`: the answers come from this many folds, each trained on the others. Their scores are then correlated through
    the shared training items, and the variance is 1 + k * n_test / n_train times as large (Nadeau and Bengio 2003).
    """
    hits = np.asarray(hits, dtype=float)
    widened = 1.0 if folds is None else 1.0 + folds / (folds - 1)
    return POINTS * math.sqrt(widened) * _strata_mean(hits, [len(hits)])


def f1_effects(predicted: Array, gold: Array) -> Array:
    """Return (items,) effects on the F1 of class 1, from classes (items,), 0 or 1. Zero if class 1 never occurs."""
    predicted, gold = np.asarray(predicted, dtype=float), np.asarray(gold, dtype=float)
    named = predicted + gold
    if not named.any():
        return np.zeros(len(gold))
    both = 2 * predicted * gold
    moves = (both - both.sum() / named.sum() * named) / named.mean()
    return POINTS * _strata_mean(moves, [len(gold)])


def average_precision_effects(predicted: Array, gold: Array) -> Array:
    """Return (items,) effects on the average precision of label 1. Zero if no item has label 1."""
    right = np.asarray(gold) == 1
    if not right.any():
        return np.zeros(len(right))
    hits, higher = counts_at_or_above(predicted, gold)
    precision = hits / higher
    order = np.argsort(predicted, kind="stable")
    last = np.searchsorted(np.asarray(predicted)[order], predicted, side="right") - 1
    # An item changes the precision of each item of label 1 with an equal or lower prediction.
    gained = np.cumsum((right / higher)[order])[last]
    lost = np.cumsum((right * precision / higher)[order])[last]
    own = precision - precision[right].mean()
    return POINTS * _strata_mean((right * (own + gained) - lost) / right.mean(), [len(right)])


def correlation_effects(
    predicted: Array,
    gold: Array,
    parts: Sequence[int] | None = None,
    kind: Correlation = "spearman",
    aggregation: Aggregation = "all",
) -> Array:
    """Return (items,) effects on a correlation of two (items,) arrays; `parts`: sizes of the sub-corpora, in order.

    Items are resampled within each sub-corpus, whose size is fixed. A sub-corpus with a constant array has no
    correlation and no effects.
    """
    predicted, gold = np.asarray(predicted, dtype=float), np.asarray(gold, dtype=float)
    sizes = [len(gold)] if parts is None else [int(size) for size in parts]
    if sum(sizes) != len(gold) or len(predicted) != len(gold):
        raise ValueError(f"{len(predicted)} predictions and {len(gold)} gold scores in parts of {sum(sizes)}")
    influence = _spearman_influence if kind == "spearman" else _pearson_influence
    if aggregation == "all":
        return POINTS * _strata_mean(influence(predicted, gold), sizes)
    effects = []
    for start, size in zip(np.cumsum([0, *sizes[:-1]]), sizes, strict=True):
        part = slice(start, start + size)
        weight = size / len(gold) if aggregation == "wmean" else 1 / len(sizes)
        effects.append(weight * _strata_mean(influence(predicted[part], gold[part]), [size]))
    return POINTS * np.concatenate(effects)


def _strata_mean(moves: Array, sizes: Sequence[int]) -> Array:
    """Return (items,) effects on a mean over all items, resampled within strata of these sizes.

    The factor n / (n - 1) of each stratum makes the sum of squares an unbiased variance.
    """
    effects = np.zeros(len(moves))
    start = 0
    for size in sizes:
        if size > 1:
            part = moves[start : start + size]
            effects[start : start + size] = (part - part.mean()) * math.sqrt(size / (size - 1)) / len(moves)
        start += size
    return effects


def _pearson_influence(first: Array, second: Array) -> Array:
    """Return (items,) the influence function of the product-moment correlation."""
    if not len(first) or np.ptp(first) == 0 or np.ptp(second) == 0:
        return np.zeros(len(first))
    u, v = (first - first.mean()) / first.std(), (second - second.mean()) / second.std()
    return np.asarray(u * v - (u * v).mean() * (u**2 + v**2) / 2)


def _spearman_influence(first: Array, second: Array) -> Array:
    """Return (items,) the influence function of the correlation of mid-ranks, in O(n log n).

    An item moves the correlation by its own ranks, and by shifting the ranks of all items above it.
    """
    if not len(first) or np.ptp(first) == 0 or np.ptp(second) == 0:
        return np.zeros(len(first))
    u, v = _Grades(first), _Grades(second)
    covariance = float((u.grades * v.grades).mean()) - 0.25
    variances = u.variance, v.variance
    moved = u.grades * v.grades + u.mean_above(v.grades) + v.mean_above(u.grades) - 3 * (covariance + 0.25)
    spread = u.variance_influence() / variances[0] + v.variance_influence() / variances[1]
    scale = math.sqrt(variances[0] * variances[1])
    return np.asarray(moved / scale - covariance / scale * spread / 2)


class _Grades:
    """Mid-ranks of values as shares between 0 and 1: the share below, plus half the share that is equal."""

    def __init__(self, values: Array) -> None:
        self._group, upto = rank_bounds(values)
        self.grades = (self._group + upto) / 2 / len(values)
        self.variance = float((self.grades**2).mean()) - 0.25

    def mean_above(self, weights: Array) -> Array:
        """Return for each item i the mean over items j of j's weight if j is above i, half of it if equal, else 0."""
        sums = np.bincount(self._group, weights=weights)
        above = sums[::-1].cumsum()[::-1] - sums / 2
        return np.asarray(above[self._group] / len(weights))

    def variance_influence(self) -> Array:
        """Return (items,) the influence on the variance of the grades. That variance depends on ties alone."""
        squares = float((self.grades**2).mean())
        return np.asarray(self.grades**2 + 2 * self.mean_above(self.grades) - 3 * squares)
