"""What a search is worth: against closed forms and naive oracles; and how often its intervals are wrong."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.statistics.fronts import on_front
from search_spaces.space import Domain, Space
from study.replay.compare import Comparison, Conditions, NamedSearch, WholeRecord, compare
from study.replay.metrics import Yardstick, hypervolume, progress
from study.replay.our_search import our_searches
from study.replay.recorded import Recorded
from study.replay.repeats import choose, mean, share
from study.replay.simulate import SearchBudget, TrialCurves, simulate
from tests.replayed import Scripted, make_recorded
from trainables.errors import UserError
from trainables.recipe import Recipe

BATCHES = tuple(range(8, 24))
"""Of a space with one domain, each value of which a random search draws equally often."""


def one_domain(*, seed: int = 0) -> Recorded:
    """Development and test are the same, so that the best found is the best drawn."""
    space = Space("one", "one", "none", Recipe(), domains=(Domain("optimisation.batch_size", choices=BATCHES),))
    chosen = tuple({"optimisation.batch_size": batch} for batch in BATCHES)
    scores = np.random.default_rng(seed).normal(60, 5, (len(BATCHES), 1, 1, 1))
    cost = np.ones((len(BATCHES), 1, 1))
    hashes = tuple(space.base.override(values).hash for values in chosen)
    return Recorded(space, space.base, ("score",), hashes, chosen, (0,), (1.0,), cost, cost, cost, scores, scores)


class TestClosedForms:
    """The expected best of so many draws is known."""

    DRAWS, REPEATS = 5, 400

    def test_random_search_draws_with_replacement(self):
        recorded = one_domain()
        ordered, draws = np.sort(recorded.test.ravel()), np.arange(len(BATCHES) + 1) / len(BATCHES)
        expected = ordered[-1] - float((ordered * np.diff(draws**self.DRAWS)).sum())
        conditions = Conditions(trials=self.DRAWS)
        (found,) = compare(recorded, our_searches(recorded, ["random"], ["none"]), conditions, self.REPEATS).values()
        interval = mean([outcome.found for outcome in found], 0.999)
        assert interval.low < expected < interval.high
        assert interval.high - interval.low < 0.3 * expected

    def test_the_whole_record_in_an_order_of_chance_draws_without(self):
        recorded = one_domain()
        ordered, count = np.sort(recorded.test.ravel()), len(BATCHES)
        chances = [math.comb(place, self.DRAWS - 1) / math.comb(count, self.DRAWS) for place in range(count)]
        expected = ordered[-1] - float((ordered * chances).sum())
        whole = NamedSearch("whole", WholeRecord, stops=False)
        (found,) = compare(recorded, [whole], Conditions(trials=self.DRAWS), self.REPEATS).values()
        interval = mean([outcome.found for outcome in found], 0.999)
        assert interval.low < expected < interval.high
        assert interval.high - interval.low < 0.3 * expected


def corners(count: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    return st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=count)


@given(corners(10), st.tuples(st.integers(0, 4), st.integers(0, 4)))
def test_a_hypervolume_is_the_number_of_unit_squares_below_it(points: list[tuple[int, int]], low: tuple[int, int]):
    squares = sum(
        any(x >= across + 1 and y >= up + 1 for x, y in points)
        for across, up in itertools.product(range(low[0], 8), range(low[1], 8))
    )
    assert hypervolume(np.array(points, dtype=float), np.array(low, dtype=float)) == squares


@given(corners(12))
def test_a_front_is_what_nobody_beats(points: list[tuple[int, int]]):
    beaten = [
        any(other != here and all(o >= h for o, h in zip(other, here, strict=True)) for other in points)
        for here in points
    ]
    assert on_front(np.array(points, dtype=float)).tolist() == [n for n, worse in enumerate(beaten) if not worse]


class TestYardstick:
    RECORDED = make_recorded()

    def test_the_whole_record_has_no_regret_and_all_of_the_volume_under_all_seeds(self):
        for goals in (["sts"], ["sts", "transfer"]):
            recorded = self.RECORDED.of_goals(goals)
            whole = NamedSearch("whole", WholeRecord, stops=False)
            (outcome,) = compare(recorded, [whole], Conditions(seeds=5), 1)["whole"]
            assert outcome.found == pytest.approx(0.0 if len(goals) == 1 else 1.0)

    def test_a_standard_error_is_pooled_over_recipes(self):
        recorded = self.RECORDED.of_goals(["sts"])
        spread = np.sqrt(np.mean(recorded.test[:, :, -1, 0].var(axis=1, ddof=1)))
        assert Yardstick(recorded).error == pytest.approx(spread / math.sqrt(5))
        assert math.isnan(Yardstick(one_domain()).error)

    def test_the_pick_is_the_best_by_development_and_is_judged_by_test(self):
        recorded = self.RECORDED.of_goals(["sts"])
        yardstick = Yardstick(recorded)
        history = simulate(TrialCurves.of(recorded, ()), Scripted([3, 9, 21]), [1], 1, SearchBudget())
        development = recorded.development[[3, 9, 21], 1, -1, 0]
        pick = [3, 9, 21][int(np.argmax(development))]
        truth = recorded.test[:, :, -1, 0].mean(axis=1)
        best = int(np.argmax(recorded.development[:, :, -1, 0].mean(axis=1)))
        course = progress(history, [1], yardstick)
        assert course.found[-1] == pytest.approx(truth[best] - truth[pick])
        assert course.found[0] == pytest.approx(truth[best] - truth.mean())  # nothing has finished yet
        assert course.compute[-1] <= history.spent[-1]

    def test_a_recipe_counts_once_all_its_seeds_have_finished(self):
        recorded = self.RECORDED.of_goals(["sts"])
        search = Scripted([8, 12])

        class LastSeedStopped(Scripted):
            def rung(self, name: str, seed: int, rung: int, values: object) -> bool:
                return not (self.asked[name] == 12 and seed == 2)

        curves = TrialCurves.of(recorded, (0,))
        for one, counted in ((search, 2), (LastSeedStopped([8, 12]), 1)):
            history = simulate(curves, one, [0, 2], 1, SearchBudget())
            course = progress(history, [0, 2], Yardstick(recorded))
            assert course.compute[1] == history.spent[1]  # not before the second trial
            assert len(np.unique(history.recipe[history.finished])) == 2
            values = recorded.development[[8, 12], :, -1, 0][:, [0, 2]].mean(axis=1)
            pick = [8, 12][int(np.argmax(values[:counted]))]
            assert course.found[-1] == pytest.approx(Yardstick(recorded).regret(pick))

    def test_the_volume_is_of_true_values_of_what_development_puts_on_the_front(self):
        recorded, asked = self.RECORDED, [0, 7, 14, 20, 33, 35]
        yardstick = Yardstick(recorded)
        history = simulate(TrialCurves.of(recorded, ()), Scripted(asked), [0, 1, 2], 2, SearchBudget())
        seen = recorded.development[:, :3, -1].mean(axis=1)[asked]
        front = [asked[place] for place in on_front(seen)]
        truth = recorded.test[:, :, -1].mean(axis=1)
        expected = hypervolume(truth[front], np.median(truth, axis=0))
        every = on_front(recorded.development[:, :, -1].mean(axis=1))
        whole = hypervolume(truth[every], np.median(truth, axis=0))
        assert progress(history, [0, 1, 2], yardstick).found[-1] == pytest.approx(expected / whole)

    def test_more_than_two_goals_are_refused(self):
        recorded = self.RECORDED.of_goals(["sts", "transfer", "sts"])
        with pytest.raises(UserError, match="one goal or two, not 3"):
            Yardstick(recorded)

    def test_a_record_in_which_nothing_finished_is_refused(self):
        recorded = replace(self.RECORDED, test=np.full_like(self.RECORDED.test, np.nan))
        with pytest.raises(UserError, match="no recorded recipe was run to its end"):
            Comparison(recorded, Conditions())


class TestErrorRates:
    """Simulated: how often an interval misses what it is of."""

    STUDIES, REPEATS = 2000, 30

    @pytest.mark.parametrize(("shape", "most"), [("normal", 0.065), ("exponential", 0.09)])
    def test_the_interval_of_a_mean_misses_it_in_a_twentieth_or_little_more(self, shape: str, most: float):
        # regrets are skewed as an exponential is, at the worst
        chance = np.random.default_rng(1)
        draws = chance.normal(1, 1, (self.STUDIES, self.REPEATS)) if shape == "normal" else None
        draws = chance.exponential(1, (self.STUDIES, self.REPEATS)) if draws is None else draws
        intervals = [mean(study) for study in draws]
        missed = np.mean([not interval.low < 1 < interval.high for interval in intervals])
        assert 0.03 < missed < most

    @pytest.mark.parametrize("true", [0.1, 0.5, 0.95])
    def test_the_interval_of_a_share_misses_it_in_a_twentieth_or_little_more(self, true: float):
        hits = np.random.default_rng(2).binomial(self.REPEATS, true, self.STUDIES)
        missed = np.mean([not (part := share(int(hit), self.REPEATS)).low < true < part.high for hit in hits])
        assert missed < 0.08

    def test_of_equal_searches_seldom_one_is_called_worse(self):
        chance = np.random.default_rng(3)
        wrong = 0
        for _ in range(self.STUDIES // 2):
            common = chance.normal(0, 1, self.REPEATS)  # a repeat's seeds are the same for all searches
            found = {name: (common + chance.normal(0, 1, self.REPEATS)).tolist() for name in "abcde"}
            wrong += bool(choose(found, low=True).worse)
        assert wrong / (self.STUDIES // 2) < 0.06

    def test_a_search_that_is_worse_by_one_spread_is_told_apart(self):
        chance = np.random.default_rng(4)
        told = 0
        for _ in range(200):
            found = {name: chance.normal(name == "c", 1, self.REPEATS).tolist() for name in "abc"}
            told += "c" in choose(found, low=True).worse
        assert told / 200 > 0.7


class TestChoice:
    def test_the_best_has_the_lowest_regret_or_the_largest_volume(self):
        found = {"a": [1.0, 2.0, 1.5], "b": [3.0, 4.1, 3.5], "c": [1.0, 2.0, 1.5]}
        low, high = choose(found, low=True), choose(found, low=False)
        assert (low.best, low.worse, low.same, low.alike) == ("a", ["b"], ["c"], [])
        assert (high.best, high.worse) == ("b", ["a", "c"])
        assert high.differences["a"].value == pytest.approx(2.0333, abs=1e-3)

    def test_one_repeat_has_no_interval(self):
        choice = choose({"a": [1.0], "b": [2.0]}, low=True)
        assert math.isnan(choice.differences["b"].low)
        assert choice.alike == ["b"]
