"""What the effects of test items come to together: of items that are drawn together, of two classifiers, and of those
that may have been left out."""

from __future__ import annotations

import numpy as np
import pytest

from reports.statistics.influence import group_effects, mcnemar
from trainables.senteval.effects import accuracy_effects


def test_mcnemar_by_its_book_values():
    first = np.array([1] * 9 + [0] * 2 + [1] * 50, dtype=bool)
    second = np.array([0] * 9 + [1] * 2 + [1] * 50, dtype=bool)
    assert mcnemar(first, second) == pytest.approx(2 * (1 + 11 + 55) / 2**11)  # 2 of 11 or fewer
    assert mcnemar(first, first) == 1.0


def test_mcnemar_as_statsmodels_has_it():
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    random = np.random.default_rng(8)
    first, second = random.random(300) < 0.8, random.random(300) < 0.7
    table = [[(first & second).sum(), (first & ~second).sum()], [(~first & second).sum(), (~first & ~second).sum()]]
    assert mcnemar(first, second) == pytest.approx(tables.mcnemar(table, exact=True).pvalue)


def test_items_that_are_drawn_together_count_as_one():
    """Fifteen premises of ten pairs each: the variance over items is that of fifteen draws."""
    random, groups, size = np.random.default_rng(0), 15, 10
    together = np.repeat(np.arange(groups), size)
    means, alone, grouped = [], [], []
    for _ in range(2000):
        hits = np.repeat(random.random(groups), size) > random.random(groups * size) * 0.2 + 0.3
        means.append(100 * hits.mean())
        effects = accuracy_effects(hits)
        alone.append((effects**2).sum())
        backwards = group_effects(effects, together[::-1])
        assert backwards.shape == (groups,)
        grouped.append((backwards**2).sum())
    assert np.mean(grouped) == pytest.approx(np.var(means), rel=0.1)
    assert np.mean(alone) < 0.3 * np.var(means)


def test_groups_of_one_change_nothing_and_one_group_tells_nothing():
    effects = np.random.default_rng(0).normal(size=6)
    assert group_effects(effects, np.array([5, 3, 4, 0, 1, 2])) is effects
    assert group_effects(effects, np.zeros(6)) is None
