"""`benchmarks idle_places`: the shares of simulated studies, and that they see a place that stands idle."""

from __future__ import annotations

import pytest

from benchmarks.engine.idle_places import WAYS, SimulatedCourse, simulated


@pytest.mark.parametrize("way", WAYS)
def test_no_place_is_idle_while_something_is_left_to_search(way: str) -> None:
    course = simulated(WAYS[way], places=2, recipes=8, seed=1)
    assert course.trials > 8 + 3 * 5
    assert course.searching == pytest.approx(0, abs=1e-9)
    assert 0 < course.whole < 0.2
    assert 0 <= course.least <= course.whole


def test_more_places_than_trials_at_the_end_must_be_idle() -> None:
    course = simulated((), places=24, recipes=10, seed=0)
    assert 0.1 < course.least <= course.whole < 0.9


def test_an_idle_place_is_seen() -> None:
    course = SimulatedCourse(2, [(0, 10), (0, 5), (10, 20)], searched=10, shortest=15)
    assert course.searching == pytest.approx(0.25)
    assert course.whole == pytest.approx(1 - 25 / 40)
    assert course.least == pytest.approx(1 - 25 / 30)
