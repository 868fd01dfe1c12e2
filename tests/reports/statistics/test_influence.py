"""What the effects of test items come to together: of items that are drawn together, of two classifiers, and of those
that may have been left out."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr

from reports.statistics.influence import group_effects, mcnemar, most_of_memory
from reports.statistics.sample import Sample
from trainables.senteval.effects import accuracy_effects, correlation_effects


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


def accuracies(hits: np.ndarray, items: str = "made") -> Sample:
    """`hits` (seeds, items) of 0 and 100."""
    rate = hits.mean(axis=1)
    return Sample(rate, tuple(range(len(hits))), effects=(hits - rate[:, None]) / hits.shape[1], items=items)


@pytest.mark.parametrize("left_out", [0, 1, 2, 3])
def test_of_an_accuracy_memory_is_what_the_worst_items_take(left_out: int) -> None:
    rng = np.random.default_rng(left_out)
    own, other = 100.0 * (rng.random((3, 12)) < 0.8), 100.0 * (rng.random((2, 12)) < 0.5)
    gain = own.mean() - other.mean()
    gains = [
        np.delete(own, out, axis=1).mean() - np.delete(other, out, axis=1).mean()
        for out in map(list, combinations(range(12), left_out))
    ]
    assert most_of_memory(accuracies(own), accuracies(other), left_out) == pytest.approx(gain - min(gains))


def test_without_pairs_or_with_all_items_seen_nothing_is_known_of_memory() -> None:
    single = accuracies(np.array([[100.0, 0.0, 100.0]]))
    assert most_of_memory(single, accuracies(np.array([[0.0, 0.0, 100.0]]), "other"), 1) is None
    assert most_of_memory(single, Sample(np.array([50.0]), (0,)), 1) is None
    assert most_of_memory(single, single, 3) is None


def test_a_correlation_that_rests_on_memory_does_not_stand() -> None:
    """The recipe is no better than the other, but for twelve of 400 items that it knows by heart."""
    rng = np.random.default_rng(5)
    gold = rng.normal(size=400)
    other = gold + rng.normal(scale=2.0, size=400)
    own = other.copy()
    known = np.argsort(-np.abs(gold - other))[:12]
    own[known] = gold[known]

    def sample(rates: np.ndarray) -> Sample:
        value = 100 * spearmanr(rates, gold).statistic
        return Sample(np.array([value]), (0,), effects=correlation_effects(rates, gold)[None], items="made")

    gain = sample(own).mean - sample(other).mean
    lost = most_of_memory(sample(own), sample(other), 12)
    assert lost > 0.8 * gain > 0
