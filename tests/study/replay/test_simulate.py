"""A search on simulated time: its schedule, its costs, and that it is the search of a study."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from study.replay.compare import Comparison, Conditions, NamedSearch, Outcome, WholeRecord, compare
from study.replay.our_search import OurSearch, our_searches, source_of
from study.replay.recorded import Recorded
from study.replay.simulate import History, SearchBudget, TrialCurves, simulate
from study.search.samplers import SAMPLERS
from study.search.schedulers import SCHEDULERS, Setting
from tests.replayed import STEPS, Scripted, make_recorded
from trainables.errors import UserError

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")


def curves_of(seconds: Sequence[Sequence[float]], scoring: float = 0.0) -> TrialCurves:
    """Of one seed: the seconds of each recipe until each stop; the score is the recipe's number."""
    stops = len(seconds[0])
    clock = [[[second + scoring * (stop + 1) for stop, second in enumerate(course)]] for course in seconds]
    return TrialCurves(
        tuple(float(stop + 1) for stop in range(stops)),
        [[list(course)] for course in seconds],
        clock,
        [[[(float(recipe),) for _ in course]] for recipe, course in enumerate(seconds)],
    )


def schedule(history: History) -> list[tuple[int, float]]:
    """Which recipe's trial ended when."""
    return list(zip(history.recipe.tolist(), history.clock.tolist(), strict=True))


class TestSchedule:
    FOUR = curves_of([[4.0], [3.0], [2.0], [5.0]])

    def test_one_worker_takes_trials_one_after_another(self):
        history = simulate(self.FOUR, Scripted([0, 1, 2, 3]), [0], 1, SearchBudget())
        assert schedule(history) == [(0, 4.0), (1, 7.0), (2, 9.0), (3, 14.0)]
        assert history.spent.tolist() == [4.0, 7.0, 9.0, 14.0]

    def test_three_workers_take_the_next_one_when_they_are_free(self):
        history = simulate(self.FOUR, Scripted([0, 1, 2, 3]), [0], 3, SearchBudget())
        assert schedule(history) == [(2, 2.0), (1, 3.0), (0, 4.0), (3, 7.0)]
        assert history.spent.tolist() == [9.0, 14.0, 14.0, 14.0]  # the fourth had begun at 2

    def test_a_stopped_trial_makes_room_at_its_rung_and_scoring_takes_time(self):
        curves = curves_of([[1.0, 4.0], [2.0, 3.0], [1.0, 2.0]], scoring=0.5)
        search = Scripted([0, 1, 2], stopped=[(0, 1)])
        history = simulate(curves, search, [0], 2, SearchBudget())
        # the first ends at its rung (1 + 0.5), when the third begins, which has its rung at 3 and its end at 4.5
        assert schedule(history) == [(0, 1.5), (1, 4.0), (2, 4.5)]
        assert history.compute.tolist() == [1.0, 3.0, 2.0]
        assert history.finished.tolist() == [False, True, True]
        assert search.judged == [("1", 0, 1), ("2", 0, 1), ("3", 0, 1)]
        assert search.told == [("1", 0, None), ("2", 0, (1.0,)), ("3", 0, (2.0,))]

    def test_all_seeds_of_a_recipe_run_before_the_next_one_is_asked_for(self):
        recorded = make_recorded()
        search = Scripted([7, 3])
        history = simulate(TrialCurves.of(recorded, ()), search, [0, 2, 4], 1, SearchBudget())
        assert history.recipe.tolist() == [7, 7, 7, 3, 3, 3]
        assert history.seed.tolist() == [0, 2, 4] * 2

    def test_a_search_that_has_nothing_now_is_asked_again_once_it_is_told_more(self):
        class Waits(Scripted):
            def suggest(self, name: str) -> int | None:
                return super().suggest(name) if len(self.told) == len(self.asked) else None

        history = simulate(self.FOUR, Waits([0, 1, 2]), [0], 3, SearchBudget())
        assert schedule(history) == [(0, 4.0), (1, 7.0), (2, 9.0)]


class TestAskedBefore:
    def test_a_recipe_that_was_run_costs_nothing_and_is_told_at_once(self):
        search = Scripted([0, 1, 0, 1, 2], stopped=[(1, 1)])
        history = simulate(curves_of([[1.0, 2.0]] * 3), search, [0], 1, SearchBudget(recipes=9))
        assert history.recipe.tolist() == [0, 1, 2]
        assert history.spent[-1] == 2 + 1 + 2
        assert history.asked == 5
        told = [(name, values) for name, _, values in search.told]
        assert told == [("1", (0.0,)), ("2", None), ("3", (0.0,)), ("4", None), ("5", (2.0,))]
        assert [name for name, _, _ in search.judged] == ["1", "2", "5"]  # a stopped one stays so

    def test_a_recipe_that_runs_now_is_told_to_both(self):
        search = Scripted([0, 0, 1])
        history = simulate(curves_of([[3.0], [1.0]]), search, [0], 2, SearchBudget(recipes=9))
        assert schedule(history) == [(1, 1.0), (0, 3.0)]
        assert [name for name, _, _ in search.told] == ["3", "1", "2"]

    def test_without_another_end_as_many_recipes_are_asked_for_as_are_recorded(self):
        assert simulate(curves_of([[1.0]] * 4), Scripted([0] * 9), [0], 1, SearchBudget()).asked == 4


class TestBudget:
    CURVES = curves_of([[1.0, 3.0]] * 6)

    def test_recipes(self):
        history = simulate(self.CURVES, Scripted(range(6)), [0], 4, SearchBudget(recipes=3))
        assert len(history.recipe) == history.asked == 3

    def test_compute_is_never_exceeded(self):
        history = simulate(self.CURVES, Scripted(range(6)), [0], 2, SearchBudget(compute=7.0))
        # two trials and half of the way of a third one; the fourth cannot begin
        assert history.spent[-1] == 7.0
        assert history.finished.sum() == 2
        assert history.stops.tolist()[-2:] == [0, 1]


class TestFailures:
    def test_a_trial_that_was_not_recorded_further_fails_there(self):
        recorded = make_recorded()
        for array in (recorded.seconds, recorded.scoring, recorded.development, recorded.test):
            array[4, 0, 2:] = np.nan
        search = Scripted([4, 5])
        history = simulate(TrialCurves.of(recorded, (0, 1, 2)), search, [0], 1, SearchBudget())
        assert history.finished.tolist() == [False, True]
        assert history.compute[0] == recorded.seconds[4, 0, 1]
        assert search.told[0] == ("1", 0, None)

    def test_it_fails_at_its_end_where_nobody_looks_before(self):
        recorded = make_recorded()
        recorded.development[4, 0, -1] = np.nan
        history = simulate(TrialCurves.of(recorded, ()), Scripted([4]), [0], 1, SearchBudget())
        assert history.finished.tolist() == [False]


@st.composite
def simulations(draw: st.DrawFn) -> tuple[TrialCurves, Scripted, int, SearchBudget]:
    recipes, stops = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    parts = st.lists(st.integers(1, 9), min_size=stops, max_size=stops)
    seconds = [list(itertools.accumulate(map(float, draw(parts)))) for _ in range(recipes)]
    asked = draw(st.lists(st.integers(0, recipes - 1), max_size=12))
    stopped = draw(st.lists(st.tuples(st.integers(0, recipes - 1), st.integers(1, stops)), max_size=8))
    compute = draw(st.one_of(st.just(math.inf), st.integers(1, 60).map(float)))
    return curves_of(seconds), Scripted(asked, stopped), draw(st.integers(1, 4)), SearchBudget(99, compute)


@given(simulations())
def test_compute_is_conserved_and_no_trial_runs_twice(case: tuple[TrialCurves, Scripted, int, SearchBudget]):
    curves, search, workers, budget = case
    history = simulate(curves, search, [0], workers, budget)
    assert len(set(history.recipe.tolist())) == len(history.recipe)
    own = [
        curves.compute[recipe][0][stops - 1] if stops else 0.0
        for recipe, stops in zip(history.recipe, history.stops, strict=True)
    ]
    assert history.compute.tolist() == own
    total = sum(own)
    assert total <= budget.compute
    if len(own):
        assert history.spent[-1] == total
        assert (np.diff(history.clock) >= 0).all()
        # never more trials at once than workers, and with work left no worker is idle
        begins = history.clock - history.compute
        assert max(((begins <= moment) & (history.clock > moment)).sum() for moment in begins) <= workers
        assert total / workers <= history.clock[-1] <= total / workers + max(own)


def ours(recorded: Recorded, sampler: str, scheduler: str, seeds: Sequence[int], rungs: Sequence[int]) -> History:
    curves = TrialCurves.of(recorded, rungs)
    judge = SCHEDULERS[scheduler].build(Setting(curves.rungs, len(recorded.goals), 3))
    search = OurSearch(recorded, SAMPLERS[sampler], judge, seeds, 3)
    return simulate(curves, search, seeds, 3, SearchBudget(recipes=30))


class TestOurs:
    def test_who_never_stops_is_as_if_nobody_was_asked(self):
        recorded = make_recorded()
        recorded.scoring[:] = 0
        asked, unasked = (ours(recorded, "tpe", "none", (0, 1), rungs) for rungs in (range(len(STEPS)), ()))
        assert asked.recipe.tolist() == unasked.recipe.tolist()
        assert asked.clock == pytest.approx(unasked.clock)
        assert asked.finished.all()

    @pytest.mark.parametrize("sampler", ["tpe", "random"])
    def test_a_repeat_is_the_same_again(self, sampler: str):
        recorded = make_recorded()
        first, second = (ours(recorded, sampler, "asha", (1,), (0, 1, 2)) for _ in range(2))
        for name in ("recipe", "seed", "stops", "finished", "compute", "clock", "spent"):
            assert np.array_equal(getattr(first, name), getattr(second, name)), name

    def test_asha_stops_and_costs_less(self):
        recorded = make_recorded()
        stopping, whole = (ours(recorded, "random", scheduler, (0,), (0, 1, 2)) for scheduler in ("asha", "none"))
        assert set(stopping.recipe.tolist()) == set(whole.recipe.tolist())
        assert stopping.spent[-1] < 0.6 * whole.spent[-1]
        assert 0 < stopping.finished.sum() < whole.finished.sum()

    def test_optuna_is_told_the_means_over_further_seeds_and_what_was_stopped(self):
        recorded = make_recorded()
        curves = TrialCurves.of(recorded, (0,))

        class Odd:
            def goes_on(self, trial: str, rung: int, values: Sequence[float]) -> bool:
                return recorded.place[trial.partition("-")[0]] % 2 == 0

        search = OurSearch(recorded, SAMPLERS["random"], Odd(), (0, 3), 0)
        history = simulate(curves, search, (0, 3), 1, SearchBudget(recipes=12), first_decides=True)
        ran = {seed: set(history.recipe[history.seed == seed].tolist()) for seed in (0, 3)}
        assert ran[3] == {place for place in ran[0] if place % 2 == 0} < ran[0]
        states = set()
        for trial in search.ask_tell.study.trials:
            place = recorded.nearest(trial.params)
            states.add(trial.state.name)
            if place % 2:
                assert trial.state.name == "PRUNED"
            else:
                assert trial.values == pytest.approx(recorded.development[place, 3, -1])  # the first was selected
        assert states == {"PRUNED", "COMPLETE"}

    @pytest.mark.slow
    def test_tpe_learns_and_so_beats_chance(self):
        recorded = make_recorded(noise=0.1).of_goals(["transfer"])
        found = compare(recorded, our_searches(recorded, ["tpe", "random"], ["none"]), Conditions(trials=30), 12)
        tpe, chance = (np.mean([outcome.found for outcome in outcomes]) for outcomes in found.values())
        assert tpe < chance / 2


class TestLearning:
    RECORDED = make_recorded(noise=0.1).of_goals(["transfer"])

    def found(self, other: Recorded) -> tuple[float, float]:
        """The mean regret of twelve asks without and with what another record knows."""
        source = source_of("other", other, self.RECORDED)
        entered = our_searches(self.RECORDED, ["random"], ["none"], [source])
        assert [named.name for named in entered] == ["random + none", "random + none, learning"]
        outcomes = compare(self.RECORDED, entered, Conditions(trials=16), 25).values()
        without, learning = (float(np.mean([outcome.found for outcome in found])) for found in outcomes)
        return without, learning

    @pytest.mark.slow
    def test_a_record_that_agrees_helps(self):
        without, learning = self.found(make_recorded(seed=5))
        assert learning < without / 2

    @pytest.mark.slow
    def test_one_that_misleads_does_little_harm(self):
        other = make_recorded(seed=5)
        without, learning = self.found(replace(other, development=-other.development))
        assert learning < without + 0.5

    def test_recipes_elsewhere_and_other_goals_teach_nothing(self):
        other = make_recorded()
        elsewhere = replace(other, chosen=tuple({**values, "objective.weight": 0.5} for values in other.chosen))
        with pytest.raises(UserError, match="--learn-from other has nothing to learn from"):
            source_of("other", elsewhere, self.RECORDED)
        with pytest.raises(UserError, match="the goal 'transfer' was not recorded; sts would work"):
            source_of("other", other.of_goals(["sts"]), self.RECORDED)


class TestContest:
    CONDITIONS = Conditions(seeds=2, workers=2, compute=0.5)

    def test_repeats_are_the_same_over_processes_and_in_one(self):
        recorded = make_recorded()
        entered = our_searches(recorded, ["random"], ["none", "asha"])
        one, two = (compare(recorded, entered, self.CONDITIONS, 3, processes) for processes in (1, 2))
        assert list(one) == ["random + none", "random + asha"]
        assert [[_plain(outcome) for outcome in found] for found in one.values()] == [
            [_plain(outcome) for outcome in found] for found in two.values()
        ]
        assert _plain(one["random + none"][0]) != _plain(one["random + none"][1])

    def test_all_searches_of_a_repeat_get_the_same_seeds_and_repeats_get_others(self):
        given: list[tuple[int, ...]] = []

        def make(start):
            given.append(start.seeds)
            return Scripted([0])

        comparison = Comparison(make_recorded(), self.CONDITIONS)
        for repeat, name in itertools.product(range(6), "ab"):
            comparison.run(NamedSearch(name, make, stops=False), repeat)
        assert given[::2] == given[1::2]
        assert len(set(given)) > 2
        assert all(len(set(seeds)) == 2 for seeds in given)

    def test_seeds_that_few_recipes_have_are_not_drawn(self):
        recorded = make_recorded()
        for array in (recorded.seconds, recorded.development, recorded.test):
            array[3:, 2:] = np.nan
        comparison = Comparison(recorded, Conditions(seeds=2))
        assert comparison.common.tolist() == [0, 1]
        with pytest.raises(UserError, match="recorded with 2; --seeds 2 is the most"):
            Comparison(recorded, Conditions(seeds=3))

    def test_a_share_of_the_compute_is_one_of_the_whole_record_under_the_same_seeds(self):
        recorded = make_recorded()
        whole = NamedSearch("whole", WholeRecord, stops=False)
        (all_of_it,) = compare(recorded, [whole], Conditions(seeds=2), 1)["whole"]
        (half,) = compare(recorded, [whole], self.CONDITIONS, 1)["whole"]
        assert all_of_it.compute == pytest.approx(all_of_it.whole)
        assert all_of_it.finished == 2 * len(recorded.hashes)
        assert half.whole == all_of_it.whole
        assert 0.4 * half.whole < half.compute <= 0.5 * half.whole

    def test_what_a_sampler_cannot_do_is_refused(self, monkeypatch: pytest.MonkeyPatch):
        recorded = make_recorded()
        narrow = functools.partial(
            type(SAMPLERS["random"]), "narrow", "study.search.optuna_samplers:random", "one goal"
        )
        SAMPLERS.add(narrow(several_goals=False))
        try:
            with pytest.raises(UserError, match="--sampler narrow searches for one goal"):
                our_searches(recorded, ["narrow"], ["none"])
            assert our_searches(recorded.of_goals(["sts"]), ["narrow"], ["none"])
        finally:
            SAMPLERS.remove("narrow")


def _plain(outcome: Outcome) -> tuple[object, ...]:
    return outcome.asked, outcome.trials, outcome.clock, outcome.compute, tuple(outcome.progress.found)
