"""How numbers are said: what says nothing is said in words."""

from __future__ import annotations

import pytest

from reports.gain import Gain
from reports.wording import difference, level


@pytest.mark.parametrize(
    ("gain", "low", "high", "words"),
    [
        (2.83, 1.2, 4.46, "+2.83 [+1.20, +4.46]"),
        (2.83, None, None, "+2.83"),
        (3.37, -86.49, 93.23, "+3.37 [far too little data to tell]"),
        (-30.0, -86.49, -2.0, "-30.00 [-86.49, -2.00]"),
        (0.0, 0.0, 0.001, "0.00 [0.00, 0.00]"),
    ],
)
def test_a_difference(gain: float, low: float | None, high: float | None, words: str) -> None:
    assert difference(gain, low, high) == words


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [
        (74.2, 73.91, 74.49, "74.20 [73.91, 74.49]"),
        (74.2, None, None, "74.20"),
        (100.0, 100.0, 100.0, "100.00 [no seed and no item differs]"),
    ],
)
def test_a_level(value: float, low: float | None, high: float | None, words: str) -> None:
    assert level(Gain(value, low, high)) == words
