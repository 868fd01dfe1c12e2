"""Goals of cost, and limits: the registries, the command line, the searcher, Optuna, what a study continues with."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import optuna
import pytest
from ray.tune.search import Searcher

from reports.ledger import Ledger, Record
from reports.testing import made_record
from search_spaces.goals import GOALS, Goal
from search_spaces.limits import LIMITS, Limit, ended_in_words, exceeded, parse_limits, violations
from search_spaces.space import Domain
from study.check import check_plan
from study.cli.options import parse
from study.dry_run import preview
from study.engine.launch import run_study
from study.plan import read_request
from study.results_folder.check import check_results
from study.results_folder.prepare import prepare_results
from study.search.ask_tell import AskTell, memory_study
from study.search.budget import Budget, Running, check_limits
from study.search.samplers import SAMPLERS
from tests.study import plans
from tests.study.plans import ALLOTMENT, CLUSTER
from tests.study.search.test_search import finish, make, run_all, searcher_of, suggestions
from trainables.errors import UserError
from trainables.recipe import Recipe
from trainables.senteval import task_names

COST = {
    "seconds": 90.0,
    "gpu_seconds": 7200.0,
    "peak_memory_mb": 900.0,
    "workers": 2,
    "encode_ms": 3.0,
    "embedding_dim": 384,
}
TAU = ("--space", "scl_tau", "--search", "optuna", "--sampler", "random", "--finals", "none")


def plan_of(results: Path, *arguments: str) -> Any:
    return plans.plan_of(*arguments, "--scale", "laptop", "--results", str(results))


class TestRegistries:
    @pytest.mark.parametrize("goal", GOALS.values(), ids=lambda goal: goal.name)
    def test_a_goal_reads_scores_or_a_cost_and_points_upward(self, goal: Goal) -> None:
        """Upward the better value is the higher one, whichever way the goal runs; what is not there is None."""
        tasks = {task: {"dev_accuracy": 60.0, "dev_spearman_cosine": 60.0} for task in goal.needs}
        value = goal.of(tasks, COST)
        assert value is not None
        assert goal.of({}, {}) is None
        assert goal.short
        assert goal.unit
        better = value - 1 if goal.lower_is_better else value + 1
        assert goal.upward(better) > goal.upward(value)
        assert goal.upward(goal.upward(value)) == value
        assert goal.lower_is_better == (not goal.needs)

    @pytest.mark.parametrize("limit", LIMITS.values(), ids=lambda limit: limit.name)
    def test_a_limit_adds_up_or_bounds_a_trial(self, limit: Limit) -> None:
        taken = limit.of(COST)
        assert taken is not None
        assert limit.of({}) is None
        assert limit.meaning
        assert limit.unit
        (text,) = [f"{limit.name}={taken}"]
        limits = parse_limits([text])
        assert limits == {limit.name: taken}
        assert exceeded(limits, [COST]) == {}  # it is kept up to its number
        tight = {limit.name: taken / 2}
        assert exceeded(tight, [COST]) == ({} if limit.whole else {limit.name: taken})
        assert exceeded(tight, [{}]) == {}
        assert violations(tight, COST) == (None if limit.whole else [pytest.approx(1.0)])
        assert Budget(tight).limits == (tight if limit.whole else {})

    def test_hours(self) -> None:
        assert LIMITS["gpu_hours"].of(COST) == 2
        assert LIMITS["worker_hours"].of(COST) == pytest.approx(2 * 90 / 3600)

    def test_minutes_pass_while_trials_run_and_while_none_does(self) -> None:
        """Earlier runs count by the time in which any of their trials ran; each place has the time that is left."""
        now, at = [0.0], "2026-01-01T00:{:02}:00+00:00".format
        earlier = [Record({}, "a", n, cost={"seconds": 120.0}, finished_at=at(end)) for n, end in enumerate((3, 4, 20))]
        budget = Budget({"minutes": 15.0}, earlier, places=2, clock=lambda: now[0])
        assert budget.spent("minutes") == 5.0  # two of them overlapped by a minute
        assert budget.trainings("a") == 10.0
        now[0] = 480.0
        assert budget.spent("minutes") == 13.0
        assert budget.seconds_left() == 120.0
        now[0] = 600.0
        assert not budget.fits(["a"])
        nothing = Budget({"minutes": 1.0})  # has ended, so the first trials begin
        assert (nothing.trainings("a"), nothing.fits(["a"])) == (None, True)

    def test_of_the_time_the_last_place_that_becomes_free_decides(self) -> None:
        """Two places, trials of two minutes: what runs holds its place for what is left of it, stages follow each
        other, and all may take a twentieth longer."""
        ended = [Record({}, "a", 0, cost={"seconds": 120.0})]

        def fits(minutes: float, trials: int, *later: int, runs: Sequence[Running] = ()) -> bool:
            budget = Budget({"minutes": minutes}, ended, places=2, clock=lambda: 0.0)
            return budget.fits(["a"] * trials, runs, [["a"] * stage for stage in later])

        assert [fits(minutes, 2) for minutes in (2.0, 2.2)] == [False, True]
        assert [fits(minutes, 3) for minutes in (4.0, 4.3)] == [False, True]
        assert [fits(minutes, 1, 2, 2) for minutes in (6.0, 6.4)] == [False, True]
        assert [fits(minutes, 1, runs=[("a", 0.0), ("a", 1.5)]) for minutes in (2.4, 2.7)] == [False, True]

    def test_a_recipe_is_above_a_limit_in_the_mean_over_its_seeds(self) -> None:
        costs = [{"seconds": 90.0}, {"seconds": 120.0}]
        assert exceeded({"seconds": 100.0}, costs) == {"seconds": 105.0}
        assert exceeded({"seconds": 110.0}, costs) == {}

    def test_a_goal_is_one_thing(self) -> None:
        with pytest.raises(UserError, match="goal 'mine' needs tasks with a number, or parts, or a cost"):
            Goal("mine", "mine", ("MR",), "dev_accuracy", cost="seconds")


class TestCommandLine:
    @pytest.mark.parametrize(
        ("options", "text"),
        [
            (("--goals", "sts,secnds"), "--goals sts,secnds: no goal is called 'secnds'; did you mean 'seconds'?"),
            (("--limit", "gpu_hors=2"), "there is no limit 'gpu_hors'; did you mean 'gpu_hours'?"),
            (("--limit", "gpu_hours"), "--limit 'gpu_hours' is not NAME=NUMBER"),
            (("--limit", "gpu_hours=-1"), "with a number above 0, such as gpu_hours=20"),
            (("--limit", "gpu_hours=inf"), "with a number above 0"),
            (("--limit", "seconds=1", "--limit", "seconds=2"), "--limit seconds is there twice"),
            (("--goals", "sts,seconds", "--scheduler", "asha"), "the goal seconds is known at their end; leave it out"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, options: tuple[str, ...], text: str) -> None:
        with pytest.raises(UserError) as caught:
            read_request(parse(["--space", "scl_tau", "--search", "optuna", *options]))
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_goals_replace_the_spaces_own(self, tmp_path: Path) -> None:
        assert plan_of(tmp_path, "--space", "contrastive_all").space.goals == ("sts", "transfer")
        plan = plan_of(tmp_path, "--space", "contrastive_all", "--goals", "selection, seconds")
        assert plan.space.goals == ("selection", "seconds")
        assert plan.draft.subject.space.goals == ("sts", "transfer")

    def test_a_goal_that_no_task_gives_is_refused(self, tmp_path: Path) -> None:
        options = (*TAU, "--goals", "transfer,seconds", "--set", "evaluation.tasks=STSBenchmark")
        with pytest.raises(
            UserError, match=r"the goal transfer looks at CR, .* add it with --set evaluation\.tasks=STSBenchmark,CR"
        ):
            check_plan(plan_of(tmp_path, *options))

    def test_a_scheduler_judges_the_selection_as_it_does_without_goals(self, tmp_path: Path) -> None:
        plain = plan_of(tmp_path, *TAU, "--scheduler", "asha")
        named = plan_of(tmp_path, *TAU, "--scheduler", "asha", "--goals", "selection")
        assert named.rungs == plain.rungs

    def test_gpu_hours_need_gpus(self) -> None:
        with pytest.raises(UserError, match="gpu_hours is of GPUs, and trials get none here; worker_hours bounds"):
            check_limits({"gpu_hours": 2.0}, 0.0)
        check_limits({"gpu_hours": 2.0}, 0.5)
        check_limits({"worker_hours": 2.0}, 0.0)

    def test_a_dry_run_shows_goals_and_limits(self, tmp_path: Path) -> None:
        arguments = (*TAU, "--goals", "sts,seconds", "--limit", "worker_hours=1", "--limit", "seconds=60")
        text = preview(plan_of(tmp_path, *arguments), CLUSTER, ALLOTMENT)
        [goals] = (line for line in text.splitlines() if line.startswith("searched for "))
        assert goals == (
            "searched for STS (Spearman on the development part of STSBenchmark; higher is better), "
            "seconds (of a trial, training and evaluation; lower is better)"
        )
        assert "limit worker_hours=1 (hours of workers, all trials of the study): 0 h spent" in text
        assert "limit seconds=60 (seconds of each trial)" in text
        recipe = Recipe()
        Ledger(tmp_path / "ledger").write(made_record(dict(recipe.flat()), recipe.hash, 0, cost={"seconds": 360.0}))
        text = preview(plan_of(tmp_path, *arguments), CLUSTER, ALLOTMENT)
        assert ": 0.1 h spent, room for about 9 trials" in text

    def test_an_estimate_stops_at_the_limit(self, tmp_path: Path) -> None:
        """72 seconds are room for four trials of 15, as they are taken to last; for one more where one took 35."""
        plan = plan_of(tmp_path, *TAU, "--limit", "worker_hours=0.02")
        assert "room for about 4 trainings" in preview(plan, CLUSTER, ALLOTMENT)
        rows = plan_of(tmp_path, *TAU[:2], "--limit", "worker_hours=0.02")
        total = len(rows.fixed_trials())
        assert f"in all without {total - 4} trials beyond the limits" in preview(rows, CLUSTER, ALLOTMENT)
        recipe = plan.fixed_trials()[0].recipe
        scores: dict[str, Any] = {task: {} for task in task_names(plan.evaluation.tasks)}
        record = made_record(
            dict(recipe.flat()), recipe.hash, 0, protocol="fast", scores=scores, cost={"seconds": 35.0}
        )
        Ledger(tmp_path / "ledger").write(record)
        assert "room for about 1 training\n" in preview(plan, CLUSTER, ALLOTMENT)
        assert f"in all without {total - 2} trials beyond the limits" in preview(rows, CLUSTER, ALLOTMENT)
        assert "beyond the limits" not in preview(plan_of(tmp_path, *TAU), CLUSTER, ALLOTMENT)


def trial(recipe: str, **cost: float) -> Record:
    return made_record({}, recipe, 0, cost=dict(cost))


class TestBudget:
    def test_the_next_trial_is_guessed_from_its_own_seeds_then_from_all(self) -> None:
        budget = Budget({"worker_hours": 1.0}, [trial("a", seconds=360.0), trial("b", seconds=1080.0)])
        assert budget.spent("worker_hours") == pytest.approx(0.4)
        assert budget.guess("worker_hours", "a") == pytest.approx(0.1)
        assert budget.guess("worker_hours", "c") == pytest.approx(0.2)
        assert budget.fits(["a", "b"], later=[["c"]])
        assert not budget.fits(["a", "b"], [("a", 0.0)], later=[["c"]])
        assert (budget.trainings("a"), budget.trainings("c")) == (pytest.approx(6.0), None)

    def test_a_recipe_of_more_epochs_is_guessed_to_take_longer(self) -> None:
        """Its training alone does; of a trial that trained nothing, nothing is learnt of one that does."""
        base = Recipe({"optimisation.epochs": 1})
        longer, bounded = base.override({"optimisation.epochs": 10}), base.override({"optimisation.max_steps": 5})
        cost = {"seconds": 180.0, "train_seconds": 144.0}
        ended = made_record(base.flat(), base.hash, 0, cost=cost)
        none = base.override({"optimisation.epochs": 0})
        budget = Budget({"minutes": 60.0}, clock=lambda: 0.0)
        budget.add(ended)
        budget.add(made_record(none.flat(), none.hash, 0, cost={"seconds": 36.0, "train_seconds": 0.0}))
        assert budget.guess("minutes", longer.hash) == pytest.approx((3.0 + 0.6) / 2)
        budget.expect([longer, bounded])
        assert budget.guess("minutes", longer.hash) == pytest.approx(10 * 2.4 + 0.6)
        assert budget.guess("minutes", base.hash) == pytest.approx(3.0)
        assert budget.guess("minutes", bounded.hash) == budget.guess("minutes") == pytest.approx(1.8)
        assert budget.trainings(longer.hash) == pytest.approx(60 / 24.6)
        assert budget.trainings(bounded.hash) is None

    def test_what_else_a_machine_did_makes_no_recipe_longer(self) -> None:
        """Parts of two recipes that are the same work took one and three minutes."""
        budget = Budget({"minutes": 60.0}, clock=lambda: 0.0)
        wholes = [Recipe({"optimisation.epochs": 1, "objective.temperature": value}) for value in (0.05, 0.1)]
        for whole, seconds in zip(wholes, (60.0, 180.0), strict=True):
            part, cost = whole.override({"corpus.share": 0.125}), {"seconds": seconds, "train_seconds": seconds}
            training = {"steps": 4, "tokens": 9_000}
            budget.add(made_record(part.flat(), part.hash, 0, cost=cost, training=training))
        budget.expect(wholes)
        assert [budget.guess("minutes", whole.hash) for whole in wholes] == pytest.approx([8 * 2.0] * 2)

    def test_a_guess_is_reckoned_once_until_more_is_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A search on many places guesses the same trials millions of times."""
        reckoned: list[str] = []
        plain = Budget._reckoned
        monkeypatch.setattr(Budget, "_reckoned", lambda self, *key: reckoned.append(key[1]) or plain(self, *key))
        base = Recipe({"optimisation.epochs": 1})
        longer = base.override({"optimisation.epochs": 2})
        cost = {"seconds": 60.0, "train_seconds": 60.0}
        budget = Budget({"minutes": 60.0}, [made_record(base.flat(), base.hash, 0, cost=cost)], clock=lambda: 0.0)
        assert [budget.guess("minutes", longer.hash) for _ in range(3)] == [1.0] * 3
        assert reckoned == [longer.hash]
        budget.expect([longer])
        assert [budget.guess("minutes", longer.hash) for _ in range(3)] == [2.0] * 3
        budget.add(made_record(longer.flat(), longer.hash, 0, cost={"seconds": 240.0, "train_seconds": 240.0}))
        assert [budget.guess("minutes", longer.hash) for _ in range(3)] == [4.0] * 3
        assert reckoned == [longer.hash] * 3

    def test_nothing_known_bounds_nothing(self) -> None:
        assert Budget({"worker_hours": 1e-9}).fits(["a"], [("a", 0.0), ("b", 0.0)])
        assert Budget({}).fits(["a"])
        assert Budget({"seconds": 1.0}, [trial("a", seconds=5.0)]).fits(["a"])

    def test_the_tightest_limit_holds(self) -> None:
        limits = {"worker_hours": 1.0, "gpu_hours": 0.5}
        budget = Budget(limits, [trial("a", seconds=360.0, gpu_seconds=720.0)])
        assert budget.fits(["a"])
        assert not budget.fits(["a", "a"])
        assert budget.ended(4)["limit"] == "gpu_hours"
        text = ended_in_words(budget.ended(4))
        assert text.startswith("the limit gpu_hours=0.5 ended the study: 0.2 h were spent, a trial takes about 0.2 h")
        assert text.endswith(", and 4 trials did not begin; the same command with a larger --limit goes on")
        assert ended_in_words(budget.ended(0)).endswith(
            " takes about 0.2 h; the same command with a larger --limit goes on"
        )

    def test_it_never_spends_much_more_than_the_limit(self) -> None:
        """Trials of random cost, several at once: what is spent in the end is below the limit, or above it by less
        than the dearest of them costs more than the mean."""
        chance = random.Random(0)
        for _ in range(200):
            costs = [chance.uniform(50, 150) for _ in range(40)]
            places, limit = chance.randint(1, 6), 1.0
            budget = Budget({"worker_hours": limit})
            running: list[float] = []
            for cost in costs:
                while running and (len(running) == places or not budget.fits([""], [("", 0.0)] * len(running))):
                    budget.add(trial("", seconds=running.pop(0)))
                if not budget.fits([""], [("", 0.0)] * len(running)):
                    break
                running.append(cost)
            for cost in running:
                budget.add(trial("", seconds=cost))
            spent = budget.spent("worker_hours")
            assert spent < limit + places * 100 / 3600
            assert spent > limit - 150 / 3600 * (places + 1)


def run_limited(searcher: Any, ledger: Ledger, seconds: float) -> int:
    """One trial after the other, each of that cost; how many there were."""
    return len(run_all(searcher, ledger, cost={"seconds": seconds}))


class TestStudy:
    LIMIT = (*TAU, "--trials", "30", "--limit", "worker_hours=1")

    def test_no_trial_begins_that_a_limit_has_no_room_for_and_a_larger_limit_goes_on(self, tmp_path: Path) -> None:
        """What was spent before counts."""
        plan, ledger, searcher = make(tmp_path, *self.LIMIT)
        assert not searcher.agenda.limited
        assert run_limited(searcher, ledger, 300.0) == 12
        assert searcher.agenda.limited
        assert len(searcher.explored) == 12 - len(plan.fixed_trials())  # nobody else was asked for
        assert searcher.agenda.remaining == 0
        _, ledger, again = make(tmp_path, *self.LIMIT)
        assert not again.has_next()
        assert again.agenda.limited
        assert run_limited(again, ledger, 300.0) == 0
        _, ledger, larger = make(tmp_path, *self.LIMIT[:-1], "worker_hours=1.5")
        assert run_limited(larger, ledger, 300.0) == 6
        _, ledger, without = make(tmp_path, *self.LIMIT[:-2])
        run_all(without, ledger)
        assert without.agenda.remaining == 0
        assert not without.agenda.limited

    def test_while_trials_run_it_waits_for_what_they_take(self, tmp_path: Path) -> None:
        _, ledger, searcher = make(tmp_path, *self.LIMIT)
        first = searcher.suggest("t0")
        finish(searcher, ledger, first, 50.0, cost={"seconds": 1500.0})
        second = searcher.suggest("t1")
        assert isinstance(second, dict)
        assert searcher.suggest("t2") is None  # 0.42 h are spent, and as much is expected of the one that runs
        assert not searcher.agenda.limited  # as long as it runs

        # Tune waits within its question where nothing trains any more: the record must come in all the same.
        def drain() -> bool:
            finish(searcher, ledger, second, 50.0, cost={"seconds": 60.0})
            return True

        searcher.drain = drain
        assert searcher.suggest("t3") is None
        assert isinstance(searcher.suggest("t4"), dict)

    def test_a_study_that_must_end_waits_for_nothing(self, tmp_path: Path) -> None:
        """Where its disk is full Tune would ask for ever."""
        _, ledger, searcher = make(tmp_path, *self.LIMIT)
        finish(searcher, ledger, searcher.suggest("t0"), 50.0, cost={"seconds": 1500.0})
        assert isinstance(searcher.suggest("t1"), dict)
        searcher.drain = lambda: False
        assert searcher.suggest("t2") == Searcher.FINISHED
        _, _, other = make(tmp_path / "other", *self.LIMIT)
        other.begin = lambda members, together: None
        assert other.suggest("t0") == Searcher.FINISHED

    def test_a_population_is_no_larger_than_the_room(self, tmp_path: Path) -> None:
        clsr = ("--space", "clsr_main", "--only", "CLSR-BERT-base", "--search", "optuna", "--trials", "30")
        _, ledger, searcher = make(tmp_path, *clsr, "--limit", "worker_hours=1")
        finish(searcher, ledger, searcher.suggest("t0"), 50.0, cost={"seconds": 600.0})
        spent = searcher.budget.spent("worker_hours")
        config = searcher.suggest("t1")
        assert 0 < len(config["trials"]) <= (1 - spent) * 6

    def test_a_limit_that_is_spent_ends_at_once_and_says_so(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        plan, ledger, searcher = make(tmp_path, *self.LIMIT)
        prepare_results(plan, "hardware")
        run_limited(searcher, ledger, 300.0)
        assert run_study(plan, CLUSTER, ALLOTMENT) == 0  # without any cluster
        text = capsys.readouterr().out
        assert "the limit worker_hours=1 ended the study: 1 h were spent, a trial takes about 0.0833 h" in text
        kept = json.loads((tmp_path / "study.json").read_text())
        assert kept["limits"] == {"worker_hours": 1.0}
        assert kept["limited"]["left_out"] == searcher.agenda.remaining
        whole = plan_of(tmp_path, *self.LIMIT[:-1], "worker_hours=100")
        assert prepare_results(whole, "hardware").limited == {}  # that limit does not hold any more

    def test_of_a_race_only_the_most_that_could_follow_is_known(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        arguments = ("--space", "scl_lambda", "--seeds", "1:4", "--limit", "worker_hours=1")
        plan, ledger, searcher = make(tmp_path, *arguments)
        prepare_results(plan, "hardware")
        run_limited(searcher, ledger, 600.0)
        assert run_study(plan, CLUSTER, ALLOTMENT) == 0
        assert f", and up to {searcher.agenda.remaining} trials did not begin" in capsys.readouterr().out

    def test_costs_are_minimised_and_limits_told(self, tmp_path: Path) -> None:
        _, ledger, searcher = make(tmp_path, *TAU, "--trials", "6", "--goals", "sts,seconds", "--limit", "seconds=100")
        for number, config in enumerate(suggestions(searcher)):
            finish(searcher, ledger, config, 50.0, cost={"seconds": 90.0 + 20 * (number % 2)})
        study = searcher.explorer.ask_tell.study
        assert [direction.name for direction in study.directions] == ["MAXIMIZE", "MINIMIZE"]
        assert study.metric_names == ["development sts", "seconds"]
        done = study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
        assert {tuple(trial.values) for trial in done} == {(50.0, 90.0), (50.0, 110.0)}
        for trial in done:  # rows, too
            assert list(trial.constraints.values()) == [pytest.approx(trial.values[1] / 100 - 1)]
        assert {trial.values[1] for trial in study.best_trials} == {90.0}

    def test_a_search_for_a_cost_finds_cheap_trials(self) -> None:
        """The sampler is told costs as they are, in a study that minimises them."""
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(sampler=SAMPLERS["tpe"].build(0), directions=["minimize"])
        ask_tell = AskTell(study, Recipe(), [Domain("objective.temperature", low=0.01, high=2.0)])
        for _ in range(40):
            trial, recipe = ask_tell.ask()
            assert ask_tell.begin(trial.number, recipe, [0])
            ask_tell.tell(recipe.hash, 0, [100 * recipe.flat()["objective.temperature"]])
        late = [float(trial.params["objective.temperature"]) for trial in study.trials[20:]]
        assert sum(late) / len(late) < 0.5
        assert memory_study(SAMPLERS["random"].build(0)).direction.name == "MAXIMIZE"

    @pytest.mark.parametrize("goals", [1, 2])
    @pytest.mark.parametrize("stopped", [False, True])
    def test_a_search_asks_for_less_of_what_breaks_a_limit_or_is_stopped(self, stopped: bool, goals: int) -> None:
        late = []
        for seed in (3, 4, 5):
            study = memory_study(SAMPLERS["tpe"].build(seed), goals)
            ask_tell = AskTell(study, Recipe(), [Domain("objective.temperature", low=0.01, high=2.0)])
            for _ in range(40):
                trial, recipe = ask_tell.ask()
                assert ask_tell.begin(trial.number, recipe, [0])
                over = float(trial.params["objective.temperature"]) - 1
                if stopped and over > 0:
                    ask_tell.tell(recipe.hash, 0, None, pruned=True, rungs=[(1, [9.0] * goals)])
                else:
                    ask_tell.tell(recipe.hash, 0, [1.0] * goals, violation=None if stopped else [over])
            late += [trial.params["objective.temperature"] > 1 for trial in study.trials[20:]]
        assert sum(late) < 0.3 * len(late)

    def test_a_seed_that_is_told_twice_counts_once(self) -> None:
        """A study that goes on tells the finished seeds of a recipe that was asked for twice again."""
        study = memory_study(SAMPLERS["tpe"].build(0))
        ask_tell = AskTell(study, Recipe(), [Domain("objective.temperature", low=0.01, high=2.0)])
        drawing, recipe = ask_tell.ask()
        ask_tell.begin(drawing.number, recipe, [0, 1])
        for seed in (0, 0, 1):
            ask_tell.tell(recipe.hash, seed, [50.0 + seed], rungs=[(1, [40.0])], violation=[0.5 + seed])
        [trial] = study.trials
        assert trial.values == [50.5]
        assert trial.constraints == {"limit 1": 1.0}


class TestContinuing:
    def begin(self, results: Path, *more: str) -> None:
        plan, ledger, searcher = make(results, *TAU, "--trials", "2", *more)
        prepare_results(plan, "hardware")
        run_all(searcher, ledger)

    @pytest.mark.parametrize(
        ("before", "now", "text"),
        [
            ((), ("--goals", "sts,seconds"), "searches for the selection score, not for sts, seconds; run that study"),
            (("--goals", "sts,seconds"), (), "searches for sts, seconds, not for the selection score; run that"),
            (("--limit", "seconds=9"), (), "searches under --limit seconds=9, not under no limit; run that study"),
            ((), ("--limit", "peak_memory_mb=9"), "searches under no limit, not under --limit peak_memory_mb=9; run"),
        ],
    )
    def test_goals_and_limits_of_trials_stay(
        self, before: tuple[str, ...], now: tuple[str, ...], text: str, tmp_path: Path
    ) -> None:
        self.begin(tmp_path, *before)
        check_results(plan_of(tmp_path, *TAU, *before))
        check_results(plan_of(tmp_path, *TAU, *before, "--limit", "worker_hours=3"))
        with pytest.raises(UserError) as caught:
            check_results(plan_of(tmp_path, *TAU, *now))
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_study_that_searched_for_nothing_may_begin_to(self, tmp_path: Path) -> None:
        plan = plan_of(tmp_path, "--space", "scl_tau")
        prepare_results(plan, "hardware")
        later = plan_of(tmp_path, *TAU, "--goals", "sts,seconds", "--limit", "seconds=9")
        check_results(later)
        assert prepare_results(later, "hardware").goals == ["sts", "seconds"]

    def test_an_older_study_has_the_spaces_own_goals(self, tmp_path: Path) -> None:
        arguments = ("--space", "contrastive_all", "--search", "optuna", "--trials", "2")
        plan = plan_of(tmp_path, *arguments)
        info = prepare_results(plan, "hardware")
        content = json.loads((tmp_path / "study.json").read_text())
        for name in ("goals", "limits", "limited"):
            del content[name]
        (tmp_path / "study.json").write_text(json.dumps(content))
        check_results(plan)
        with pytest.raises(UserError, match="searches for sts, transfer, not for sts"):
            check_results(plan_of(tmp_path, *arguments, "--goals", "sts"))
        assert dataclasses.replace(info, goals=None).load_space(tmp_path).goals == ("sts", "transfer")
        assert dataclasses.replace(info, goals=["seconds"]).load_space(tmp_path).goals == ("seconds",)

    def test_a_journal_of_other_directions_is_refused(self, tmp_path: Path) -> None:
        """As where somebody has taken `study.json` away."""
        self.begin(tmp_path)
        plan = plan_of(tmp_path, *TAU, "--goals", "sts,seconds")
        with pytest.raises(UserError) as caught:
            searcher_of(plan, Ledger(tmp_path / "ledger"))
        text = "is of a search that had to maximize 1 goal, not to maximize 1 goal and minimize 1 goal; give its own"
        assert text in str(caught.value)
