"""Agreement between our order of the rows and the paper's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reports.statistics.measured import CONFIDENCE
from reports.statistics.sample import Array

SHUFFLES = 9999


@dataclass(frozen=True)
class Order:
    """Kendall's tau-b of two figures of the same rows: 1 in the same order, 0 in no related order, -1 in reverse."""

    tau: float
    p: float
    """Two-sided p of the hypothesis that the two orders are unrelated."""
    low: float | None
    high: float | None
    """`low`, `high`: ends of the 95 % interval over samples of rows; None for fewer than five rows."""
    rows: int
    agree: int
    """Number of pairs of rows that have the same order in both figures."""
    pairs: int
    """Number of all pairs of rows."""


def kendall(first: Sequence[float], second: Sequence[float]) -> Order | None:
    """Return Kendall's tau-b. None for fewer than two rows, and if one of the figures is the same for all rows.

    Without ties p is exact. With ties p comes from shuffles: from all of them for up to seven rows.
    """
    from scipy.stats import kendalltau

    rows = len(first)
    if rows < 2 or len(set(first)) < 2 or len(set(second)) < 2:
        return None
    tied = len(set(first)) < rows or len(set(second)) < rows
    test = kendalltau(first, second, method="auto" if tied else "exact")
    tau = float(test.statistic)
    low, high = tau_interval(tau, rows)
    upper = np.triu_indices(rows, 1)
    signs = [np.sign(np.subtract.outer(figures, figures))[upper] for figures in (first, second)]
    agree = int((signs[0] * signs[1] > 0).sum())
    p = _shuffled_p(first, second) if tied else float(test.pvalue)
    return Order(tau, p, low, high, rows, agree, len(signs[0]))


def tau_interval(tau: float, rows: int) -> tuple[float | None, float | None]:
    """Return the 95 % interval of Kendall's tau over samples of rows; (None, None) for fewer than five rows."""
    from scipy.special import stdtrit

    if rows < 5:
        return None, None
    # Fieller, Hartley and Pearson 1957, with Student's t, since few rows underestimate the scatter. A perfect order
    # counts half a pair less, or its interval would be a point.
    most = 1 - 1 / (rows * (rows - 1))
    middle = math.atanh(max(-most, min(most, tau)))
    half = float(stdtrit(rows - 2, 0.5 + CONFIDENCE / 2)) * math.sqrt(0.437 / (rows - 4))
    low, high = math.tanh(middle - half), min(1.0, math.tanh(middle + half))
    return min(low, tau), max(high, tau)


def _shuffled_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Share of random orders that agree, or disagree, at least as much as the two orders."""
    from scipy.stats import permutation_test

    upper = np.triu_indices(len(first), 1)
    signs = np.sign(np.subtract.outer(second, second))[upper]

    def concordance(values: Array, axis: int = -1) -> Array:
        values = np.moveaxis(np.asarray(values), axis, -1)
        return np.asarray(np.sign(values[..., upper[0]] - values[..., upper[1]]) @ signs)

    random = np.random.default_rng(0)
    test = permutation_test(
        (np.asarray(first, dtype=float),),
        concordance,
        permutation_type="pairings",
        vectorized=True,
        n_resamples=SHUFFLES,
        batch=1000,
        rng=random,
    )
    return float(test.pvalue)
