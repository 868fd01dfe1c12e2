"""Means and spreads, against plain definitions."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.statistics import Measured

figures = st.floats(-100, 100)


@given(st.lists(figures, min_size=1, max_size=6))
def test_measured(values: list[float]):
    measured = Measured.of(values)
    assert measured.mean == pytest.approx(statistics.fmean(values), abs=1e-9)
    assert measured.seeds == len(values)
    if len(values) == 1:
        assert measured.std is None
    else:
        assert measured.std == pytest.approx(statistics.stdev(values), abs=1e-6)


def test_no_values_are_no_number():
    assert Measured.of([]) is None
