"""Calculations with the effects of single test items (`Sample.effects`, `trainables/senteval/effects.py`).

The sum of squares of the effects is the variance of a figure over items, in points squared. An average of tasks
concatenates the effects of its tasks, each times the task's weight.
"""

from __future__ import annotations

import math

import numpy as np

from reports.statistics.sample import Array


def group_effects(effects: Array, groups: Array) -> Array | None:
    """Return (groups,) effects of items that are drawn together, from (items,) effects and group numbers.

    None for a single group, which shows no variance. Few groups underestimate the variance, so it is multiplied by G /
    (G - 1) (Liang and Zeger 1986, with the usual correction).
    """
    _, group_numbers = np.unique(groups, return_inverse=True)
    sums = np.bincount(group_numbers, weights=effects)
    if len(sums) == len(effects):
        return effects
    items, count = len(effects), len(sums)
    return sums * math.sqrt(count / (count - 1) * (items - 1) / items) if count > 1 else None


def mcnemar(first_hits: Array, second_hits: Array) -> float:
    """Return the exact two-sided p that two classifiers are right equally often, from (items,) hits on equal items."""
    from scipy.stats import binomtest

    first, second = np.asarray(first_hits, dtype=bool), np.asarray(second_hits, dtype=bool)
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    discordant = only_first + only_second
    return float(binomtest(only_first, discordant).pvalue) if discordant else 1.0
