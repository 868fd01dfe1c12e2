"""How much of a gain may be memory, against every set of items that may have been left out."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr

from reports.statistics.influence import most_of_memory
from reports.statistics.sample import Sample
from trainables.senteval.effects import correlation_effects


def accuracies(hits: np.ndarray, items: str = "made") -> Sample:
    """`hits` (seeds, items) of 0 and 100."""
    rate = hits.mean(axis=1)
    return Sample(rate, tuple(range(len(hits))), effects=(hits - rate[:, None]) / hits.shape[1], items=items)


@pytest.mark.parametrize("left_out", [0, 1, 2, 3])
def test_for_an_accuracy_it_is_what_the_worst_items_take(left_out: int) -> None:
    rng = np.random.default_rng(left_out)
    own, other = 100.0 * (rng.random((3, 12)) < 0.8), 100.0 * (rng.random((2, 12)) < 0.5)
    gain = own.mean() - other.mean()
    gains = [
        np.delete(own, out, axis=1).mean() - np.delete(other, out, axis=1).mean()
        for out in map(list, combinations(range(12), left_out))
    ]
    assert most_of_memory(accuracies(own), accuracies(other), left_out) == pytest.approx(gain - min(gains))


def test_without_pairs_or_with_all_items_seen_nothing_is_known() -> None:
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
