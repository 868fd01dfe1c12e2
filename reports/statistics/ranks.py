"""Rank correlations of many pairs of figures of the same recipes, with p-values from one set of shuffles."""

from __future__ import annotations

import numpy as np

from reports.statistics.sample import Array

SHUFFLES, AT_ONCE = 9999, 1000


def rank_correlations(first: Array, second: Array) -> tuple[Array, Array]:
    """Spearman's correlation of every column of `first` with every one of `second`, and its two-sided p-value.

    `first` is (recipes, a), `second` (recipes, b); both results are (a, b). p is how often recipes in random order are
    correlated at least as much. A column of one value is correlated with nothing: 0, with p 1.
    """
    own, other = _scaled_ranks(first), _scaled_ranks(second)
    products = own.T @ other
    random = np.random.default_rng(0)
    reached = np.ones(products.shape)
    for start in range(0, SHUFFLES, AT_ONCE):
        orders = random.random((min(AT_ONCE, SHUFFLES - start), len(own))).argsort(axis=1)
        shuffled = np.einsum("ra,srb->sab", own, other[orders], optimize=True)
        reached += (np.abs(shuffled) >= np.abs(products) - 1e-12).sum(axis=0)
    return products, reached / (SHUFFLES + 1)


def _scaled_ranks(values: Array) -> Array:
    """Ranks with mean zero and length one, column by column; zeros for a column of one value."""
    from scipy.stats import rankdata

    ranks = rankdata(values, axis=0)
    ranks -= ranks.mean(axis=0)
    length = np.sqrt((ranks**2).sum(axis=0))
    return np.asarray(ranks / np.where(length > 0, length, 1.0))
