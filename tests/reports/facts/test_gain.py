"""Gains and levels with their intervals, and how they are said: what says nothing is said in words."""

from __future__ import annotations

import numpy as np
import pytest

from reports.facts.gain import Gain
from reports.facts.quantity import Quantity
from reports.statistics import Sample
from reports.words.comparisons import difference, level

ACCURACY, SPEARMAN = ("MR", "test_accuracy"), ("STSBenchmark", "test_spearman_cosine")


@pytest.mark.parametrize(
    ("weights", "values", "ends"),
    [
        ({ACCURACY: 1.0}, (1.0, 3.0, 2.0), (0.0, None)),
        ({ACCURACY: 1.0}, (99.0, 97.0, 98.0), (None, 100.0)),
        ({SPEARMAN: 1.0}, (1.0, 3.0, 2.0), (None, None)),
        ({SPEARMAN: 1.0}, (-99.0, -97.0, -98.0), (-100.0, None)),
        ({SPEARMAN: 0.5, ACCURACY: 0.5}, (-49.0, -47.0, -48.0), (-50.0, None)),
        ({("of a plugin", "test_score"): 1.0}, (99.0, 97.0, 98.0), (None, None)),
    ],
)
def test_an_interval_ends_where_its_figure_does(
    weights: dict[tuple[str, str], float], values: tuple[float, ...], ends: tuple[float | None, float | None]
) -> None:
    """`None`: the interval's own end, which lies 2.48 from the mean of these three seeds."""
    gain = Gain.level(Sample(np.array(values), (0, 1, 2)), Quantity("figure", weights))
    assert gain.gain == pytest.approx(np.mean(values))
    own = (gain.gain - 2.484, gain.gain + 2.484)
    expected = [ending if end is None else end for end, ending in zip(ends, own, strict=True)]
    assert [gain.low, gain.high] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (difference(2.83, 1.2, 4.46), "+2.83 [+1.20, +4.46]"),
        (difference(2.83, None, None), "+2.83"),
        (difference(3.37, -86.49, 93.23), "+3.37 [far too little data to tell]"),
        (difference(-30.0, -86.49, -2.0), "-30.00 [-86.49, -2.00]"),
        (difference(0.0, 0.0, 0.001), "0.00 [0.00, 0.00]"),
        (level(Gain(74.2, 73.91, 74.49)), "74.20 [73.91, 74.49]"),
        (level(Gain(74.2, None, None)), "74.20"),
        (level(Gain(100.0, 100.0, 100.0)), "100.00 [no seed and no item differs]"),
    ],
)
def test_in_words(shown: str, words: str) -> None:
    assert shown == words
