"""Means, spreads, noise and order, against plain definitions."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.statistics import Measured, Noise, same_order

figures = st.floats(-100, 100)


@given(st.lists(figures, min_size=1, max_size=6))
def test_measured(values: list[float]):
    measured = Measured.of(values)
    assert measured is not None
    assert measured.mean == pytest.approx(statistics.fmean(values), abs=1e-9)
    assert measured.seeds == len(values)
    if len(values) == 1:
        assert measured.std is None
    else:
        assert measured.std == pytest.approx(statistics.stdev(values), abs=1e-6)


def test_no_values_are_no_number():
    assert Measured.of([]) is None


def test_noise_pools_and_is_unknown_with_one_seed():
    assert Noise.of([Measured.of([1.0]), None, Measured.of([5.0])]) is None
    noise = Noise.of([Measured.of([1.0, 3.0]), Measured.of([10.0, 10.0, 10.0]), Measured.of([7.0])])
    assert noise is not None
    assert (noise.freedom, noise.std) == (3, pytest.approx((2 / 3) ** 0.5))


def test_threshold_is_the_t_intervals():
    from scipy.stats import ttest_ind

    first, second = [70.0, 70.4, 70.8], [69.0, 69.1, 69.5]
    noise = Noise.of([Measured.of(first), Measured.of(second)])
    assert noise is not None
    interval = ttest_ind(first, second).confidence_interval(0.95)
    assert noise.threshold(3, 3) == pytest.approx((interval.high - interval.low) / 2)


def test_a_fixed_figure_has_no_noise_and_many_comparisons_have_more():
    from scipy.stats import t

    noise = Noise(std=2.0, freedom=10)
    fixed, drawn = Measured(50.0, None, 1, fixed=True), Measured(50.0, 2.0, 4)
    assert noise.threshold(drawn.draws, fixed.draws) == pytest.approx(t.ppf(0.975, 10) * 2.0 / 2)
    assert noise.threshold(fixed.draws, fixed.draws) == 0
    assert noise.threshold(4, 4, comparisons=5) == pytest.approx(t.ppf(0.995, 10) * 2.0 / 2**0.5)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=7))
def test_same_order(pairs: list[tuple[float, float]]):
    from itertools import combinations

    signs = [(a - c) * (b - d) for (a, b), (c, d) in combinations(pairs, 2)]
    assert same_order(pairs) == (sum(sign > 0 for sign in signs), sum(sign != 0 for sign in signs))
