"""`benchmarks idle_places`: the shares of simulated studies, and that they see a place that stands idle."""

from __future__ import annotations

import pytest

from benchmarks.idle_places import WAYS, Course, simulated


@pytest.mark.parametrize("way", WAYS)
def test_no_place_is_idle_while_something_is_left_to_explore(way: str) -> None:
    course = simulated(WAYS[way], places=2, recipes=8, seed=1)
    assert course.trials > 8 + 3 * 5
    assert course.idle(until_explored=True) == pytest.approx(0, abs=1e-9)
    assert 0 < course.idle(until_explored=False) < 0.2


def test_an_idle_place_is_seen() -> None:
    course = Course(2, [(0, 10), (0, 5), (10, 20)], explored=10)
    assert course.idle(until_explored=True) == pytest.approx(0.25)
    assert course.idle(until_explored=False) == pytest.approx(1 - 25 / 40)
