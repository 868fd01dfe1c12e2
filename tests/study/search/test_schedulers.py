"""The order of trials with several goals, and what the schedulers make of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.statistics.fronts import front_numbers, spread, trials_before
from study.search.halving import SuccessiveHalving, asha
from study.search.schedulers import Setting

FEW_VALUES = st.integers(0, 6)
"""So few that trials are often equal in a goal, or in all."""


@st.composite
def goal_values(draw: st.DrawFn) -> np.ndarray:
    goals = draw(st.integers(1, 3))
    rows = draw(st.lists(st.tuples(*[FEW_VALUES] * goals), min_size=1, max_size=14))
    return np.array(rows, dtype=float)


def dominates(first: np.ndarray, second: np.ndarray) -> bool:
    return bool(all(first >= second) and any(first > second))


def naive_fronts(values: np.ndarray) -> list[int]:
    numbers: dict[int, int] = {}
    for number in itertools.count():
        left = [trial for trial in range(len(values)) if trial not in numbers]
        if not left:
            return [numbers[trial] for trial in range(len(values))]
        front = [t for t in left if not any(dominates(values[other], values[t]) for other in left)]
        numbers |= dict.fromkeys(front, number)
    raise AssertionError


def naive_order(values: np.ndarray) -> list[tuple[float, ...]]:
    """The different points of a set, in the order in which they are chosen."""
    points = sorted({tuple(map(float, row)) for row in values}, reverse=True)
    low, high = np.min(points, axis=0), np.max(points, axis=0)
    scaled = {
        point: [(v - a) / (b - a) if b > a else 0.0 for v, a, b in zip(point, low, high, strict=True)]
        for point in points
    }
    chosen = [points[0]]
    while len(chosen) < len(points):
        left = [point for point in points if point not in chosen]

        def nearest(point: tuple[float, ...]) -> float:
            return round(
                min(sum((a - b) ** 2 for a, b in zip(scaled[point], scaled[c], strict=True)) for c in chosen), 12
            )

        chosen.append(max(left, key=nearest))  # of several the first, which is the best in the first goal
    return chosen


@given(goal_values())
def test_fronts_are_those_of_the_plain_loops(values: np.ndarray) -> None:
    assert front_numbers(values).tolist() == naive_fronts(values)


@given(goal_values())
def test_the_order_is_that_of_the_plain_loops(values: np.ndarray) -> None:
    fronts = naive_fronts(values)
    for trial in range(len(values)):
        before = sum(front < fronts[trial] for front in fronts)
        own = [v for v, front in zip(values, fronts, strict=True) if front == fronts[trial]]
        order = naive_order(np.array(own))
        earlier = order[: order.index(tuple(values[trial]))]
        before += sum(tuple(row) in earlier for row in own)
        assert trials_before(values, trial) == before


@given(goal_values(), st.lists(st.tuples(st.sampled_from([0.25, 2.0, 64.0]), FEW_VALUES), min_size=3, max_size=3))
def test_the_units_of_the_goals_do_not_matter(values: np.ndarray, units: list[tuple[float, int]]) -> None:
    factors, shifts = np.array(units, dtype=float).T[:, : values.shape[1]]
    changed = values * factors + shifts
    for trial in range(len(values)):
        assert trials_before(changed, trial) == trials_before(values, trial)


def test_a_front_that_only_partly_fits_is_thinned_evenly() -> None:
    front = np.array([[x, 1 - x] for x in np.linspace(0, 1, 9)])
    assert sorted(spread(front)[:2].tolist()) == [0, 8]
    assert sorted(spread(front)[:3].tolist()) == [0, 4, 8]
    assert sorted(spread(front)[:5].tolist()) == [0, 2, 4, 6, 8]


class TestHalving:
    def test_the_share_that_goes_on_is_the_ratio_of_the_rungs(self) -> None:
        halving = asha(Setting((3.0, 6.0, 24.0, 48.0)))
        assert halving.shares == (0.5, 0.25, 0.5)
        falling = [halving.goes_on(str(trial), 2, [-trial]) for trial in range(16)]
        assert falling == [True] + [False] * 3 + [False] * 12  # the first is the best, and the share is a quarter
        rising = asha(Setting((1.0, 4.0)))
        assert all(rising.goes_on(str(trial), 1, [trial]) for trial in range(16))

    def test_each_rung_is_by_itself(self) -> None:
        halving = asha(Setting((1.0, 2.0, 4.0)))
        assert halving.goes_on("a", 1, [5.0])
        assert not halving.goes_on("b", 1, [4.0])
        assert halving.goes_on("b", 2, [1.0])

    @pytest.mark.slow
    def test_about_the_share_goes_on_of_many(self) -> None:
        random = np.random.default_rng(0)
        for goals in (1, 2, 3):
            halving = SuccessiveHalving([0.25])
            went = [halving.goes_on(str(trial), 1, list(random.normal(size=goals))) for trial in range(400)]
            assert 0.2 < np.mean(went[100:]) < 0.3

    def test_two_goals_keep_both_ends(self) -> None:
        """Half of four go on: the end of the front that is best in the first goal, and what is farthest from it."""
        before = [(9.0, 1.0), (5.0, 5.0), (4.0, 6.0)]
        for fourth, goes_on in (((1.0, 9.0), True), ((4.5, 5.5), False), ((1.0, 1.0), False), ((10.0, 10.0), True)):
            halving = SuccessiveHalving([0.5])
            for number, values in enumerate(before):
                halving.goes_on(str(number), 1, values)
            assert halving.goes_on("fourth", 1, fourth) == goes_on
