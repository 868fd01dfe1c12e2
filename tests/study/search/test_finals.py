"""How a search ends: who is in its finals, under which seeds, and when they run."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.facts.results import Results
from reports.ledger import LEDGER, Finals, Ledger, StudyInfo, fresh_seeds, is_fresh
from reports.ledger.finals import FIRST_FRESH_SEED
from reports.ledger.folders import POPULATIONS
from reports.ledger.option_values import parse_finals_size
from reports.testing import made_record
from search_spaces.goals import SELECTION, searched
from search_spaces.space import Domain
from study.cli.options import parse
from study.dry_run import preview
from study.results_folder.check import continued
from study.results_folder.prepare import prepare_results, save_info
from study.rows import as_it_came
from study.search.agenda import Agenda
from study.search.budget import Budget
from study.search.choice import choose
from study.search.finals import SearchFinals
from study.testing.agenda import SimulatedTrial, drive
from study.trial import Trial
from tests.conftest import slow_case
from tests.study.plans import ALLOTMENT, CLUSTER
from tests.study.search.test_agenda import BASE, Rates, agenda, outcome, quality, seeds
from tests.study.search.test_search import CLSR, finish, make, run_all, searcher_of, suggestions
from trainables.errors import UserError
from trainables.files import write_whole
from trainables.recipe import Recipe

TAU = ("--space", "scl_tau", "--search", "optuna", "--trials", "4", "--finals", "2x3")
BESIDE = 3 + 3 + 1
"""Trials beside two finalists under three seeds: of the base settings, the baseline row, the original encoder."""
RATES = (1e-4, 1e-3, 1e-5, 3e-4)
"""Of which the second is the best one, and then the last."""


class TestAsked:
    def test_recipes_and_seeds_or_none(self) -> None:
        assert parse_finals_size("--finals", "3x5") == (3, 5)
        assert parse_finals_size("--finals", "none") == "none"
        assert parse(["--space", "scl_tau", "--search", "grid"]).finals_size == (1, 5)
        assert parse(["--space", "scl_tau"]).finals_size is None

    @pytest.mark.parametrize("text", ["3", "x", "3x", "ax5", "0x5", "3x1", "-1x5", "3x5x2", "1000x5", "3 by 5", ""])
    def test_anything_else_is_refused(self, text: str) -> None:
        with pytest.raises(UserError, match="--finals"):
            parse_finals_size("--finals", text)

    def test_a_study_of_rows_has_none(self) -> None:
        with pytest.raises(UserError, match="--finals is how a search ends; add --search optuna"):
            parse(["--space", "scl_tau", "--finals", "3x5"])


class TestChoice:
    def test_of_one_goal_the_first_ones(self) -> None:
        assert choose([[3.0], [2.0], [2.0], [1.0]], 3) == [0, 1, 2]
        assert choose([[3.0]], 3) == [0]
        assert choose([], 3) == []

    def test_of_several_goals_a_cover_of_the_front(self) -> None:
        """Given by their score, then by their cost: the dominated second is left out, and so is what lies close."""
        values = [[9.0, -9.0], [8.9, -9.5], [8.8, -8.8], [7.0, -5.0], [4.0, -1.0]]
        assert choose(values, 3) == [0, 3, 4]
        assert choose(values, 4) == [0, 2, 3, 4]
        assert choose(values, 5) == [0, 1, 2, 3, 4]

    def test_equal_points_are_taken_once(self) -> None:
        assert choose([[2.0, 1.0], [2.0, 1.0], [1.0, 2.0], [1.5, 1.5]], 3) == [0, 2, 3]

    def test_equal_points_come_before_what_is_dominated(self) -> None:
        assert choose([[2.0, 1.0], [2.0, 1.0], [1.0, 1.0]], 2) == [0, 1]

    def test_what_left_a_race_comes_after_all_others(self) -> None:
        """However good its few seeds are."""
        values = [[5.0, 1.0], [4.0, 2.0], [3.0, 1.0], [9.0, 9.0]]
        assert choose(values, 2) == [0, 3]
        assert choose(values, 2, lost=1) == [0, 1]
        assert choose(values, 3, lost=1) == [0, 1, 2]
        assert choose(values, 3, lost=2) == [0, 1, 3]
        assert choose(values, 4, lost=1) == [0, 1, 2, 3]


class TestSize:
    def test_base_and_baseline_and_the_encoder_each_once(self) -> None:
        base, other = Recipe(), Recipe({"objective.temperature": 0.5})
        finals = SearchFinals(3, 5, base, {base.hash: "SCL", other.hash: "baseline"}, other)
        assert [(entrant.name, [*entrant.seeds]) for entrant in finals.references] == [
            ("base settings", [*fresh_seeds(5)]),
            ("original encoder", [FIRST_FRESH_SEED]),
            ("baseline", [*fresh_seeds(5)]),
        ]
        assert finals.in_words() == (
            "3 recipes x 5 fresh seeds, beside the base settings (5), the original encoder and baseline (5)"
        )
        same = SearchFinals(3, 5, base, {base.hash: "SCL"}, base)
        assert [entrant.name for entrant in same.references] == ["base settings", "original encoder"]
        assert same.facts().baseline == same.facts().base == base.hash

    def test_a_row_that_no_seed_changes_has_run_already(self) -> None:
        base = Recipe()
        untrained = as_it_came(base)
        finals = SearchFinals(3, 5, base, {untrained.hash: "untrained"}, untrained)
        assert [(entrant.name, len(entrant.seeds)) for entrant in finals.references] == [
            ("base settings", 5),
            ("original encoder", 0),
        ]
        assert finals.facts().baseline == finals.facts().as_it_came

    @pytest.mark.parametrize(
        ("trainings", "size"),
        [(1.9, None), (2.0, (1, 1)), (5.5, (1, 2)), (9.9, (1, 4)), (99.0, (1, 5))],
    )
    def test_they_fit_into_what_there_is(self, trainings: float, size: tuple[int, int] | None) -> None:
        sized = SearchFinals(1, 5, Recipe()).shrink_to(trainings)
        assert (sized and (sized.recipes, sized.seeds)) == size
        assert sized is None or sized.smaller == (size != (1, 5))

    def test_a_learning_curve_costs_seven_eighths_of_a_training_for_each_seed(self) -> None:
        with_curve = SearchFinals(1, 5, Recipe(), curve=True)
        assert (with_curve.trainings, with_curve.curve_trainings, with_curve.most_curve_trials) == (15, 5, 15)
        fits = with_curve.shrink_to(10)
        assert (fits.seeds, fits.trainings) == (3, 9)


def of(size: tuple[int, int], **more: Any) -> SearchFinals:
    return SearchFinals(*size, BASE, {BASE.hash: "base", as_it_came(BASE).hash: "untrained"}, **more)


def finalists(search: Agenda) -> list[str]:
    return [entrant.name for entrant in search.finalists or ()]


class TestAgenda:
    def test_they_run_last_and_seed_by_seed(self) -> None:
        search, clock, _ = agenda(rates=RATES, places=1, finals=of((2, 3)))
        foretold = search.remaining
        ran = drive(search, clock, outcome())
        assert len(ran) == foretold == 2 + 4 + 3 * 3
        final = [run.trial for run in ran[-9:]]
        assert [trial.seed for trial in final] == [seed for seed in fresh_seeds(3) for _ in range(3)]
        assert [trial.name for trial in final[:3]] == [*finalists(search), "base settings"] == [
            "rate 0.001", "rate 0.0003", "base settings",
        ]  # fmt: skip

    def test_what_they_compare_with_fills_idle_places_while_the_last_recipe_runs(self) -> None:
        search, _, _ = agenda(rates=RATES, places=4)
        begun = [search.next() for _ in range(2 + 4)]
        record = {trial.key: outcome()(trial)[1] for trial in begun if trial is not None}
        for key in [*record][:-1]:
            search.tell(key, record[key])
        beside = [trial for _ in range(9) if (trial := search.next()) is not None]
        assert {(trial.name, trial.seed) for trial in beside} == {("base settings", seed) for seed in fresh_seeds(5)}
        assert search.awaits_records
        search.tell([*record][-1], record[[*record][-1]])
        following = search.next()
        assert (following.name, following.seed) == ("rate 0.001", FIRST_FRESH_SEED)

    def test_more_recipes_choose_anew_and_more_seeds_extend(self) -> None:
        first, clock, explorer = agenda(rates=RATES[:1], finals=of((1, 2)))
        ran = drive(first, clock, outcome())
        for rates, size, more in ((RATES, (1, 2), 3 + 2), (RATES[:1], (1, 3), 2), (RATES[:1], (1, 2), 0)):
            again, clock, _ = agenda(rates=rates, before=ran, proposed=explorer.proposed, finals=of(size))
            new = drive(again, clock, outcome())
            assert len(new) == more
            assert finalists(again) == [f"rate {max(rates):g}" if len(rates) > 1 else "rate 0.0001"]
            assert not {run.trial.key for run in new} & {run.trial.key for run in ran}

    def test_what_fails_in_them_is_not_tried_again_before_the_next_run(self) -> None:
        usual = outcome()

        def failing(trial: Trial) -> tuple[float, Any]:
            return (1.0, None) if trial.seed == FIRST_FRESH_SEED + 1 else usual(trial)

        search, clock, explorer = agenda(rates=RATES, finals=of((1, 3)))
        ran = drive(search, clock, failing)
        assert [run.trial.seed for run in ran if run.record is None] == [FIRST_FRESH_SEED + 1] * 2
        assert search.remaining == 0
        again, clock, _ = agenda(rates=RATES, before=ran, proposed=explorer.proposed, finals=of((1, 3)))
        assert [run.trial.seed for run in drive(again, clock, usual)] == [FIRST_FRESH_SEED + 1] * 2

    def test_where_nothing_has_a_score_the_base_runs_alone(self) -> None:
        search, clock, _ = agenda(rates=RATES)
        ran = drive(search, clock, lambda trial: (1.0, outcome()(trial)[1] if is_fresh(trial.seed) else None))
        assert search.finalists == []
        assert seeds(ran, BASE) == 5

    @pytest.mark.parametrize("copied", [False, True])
    def test_of_copies_one_is_in_them_and_none_of_the_base(self, copied: bool) -> None:
        """Two recipes that score the same to the last digit are one; `copied`: their losses differ, so that one of them
        may hold the other's trial."""
        copies = {1e-3: 70.0, 2e-3: 70.0, 3e-3: 60.0, 4e-3: 65.0}

        def of_rate(trial: Trial) -> tuple[float, Any]:
            score = copies.get(trial.recipe.optimisation.learning_rate, 60.0) + 1e-3 * (trial.seed % 7)
            numbers = dict.fromkeys(("dev_spearman_cosine", "spearman_cosine", "pearson", "dev_pearson"), score)
            scores = {"STSBenchmark": numbers if trial.recipe.trains else {**numbers, "pearson": 1.0}}
            record = made_record(trial.recipe.flat(), trial.recipe_hash, trial.seed, scores=scores)
            loss = trial.recipe.optimisation.learning_rate if copied else 1.0
            return 1.0, dataclasses.replace(record, training={**record.training, "loss": loss})

        search, clock, _ = agenda(rates=[*copies], finals=of((3, 2)))
        drive(search, clock, of_rate)
        assert finalists(search) == ["rate 0.001", "rate 0.004"]

    @pytest.mark.parametrize(
        ("order", "above", "chosen"), [(1, 10, ["rate 0.0001"]), (-1, 10, ["rate 0.0001"]), (1, 0, [])]
    )
    def test_of_equals_the_first_of_the_search_is_in_them(self, order: int, above: float, chosen: list[str]) -> None:
        """In whatever order they ended, or their files lie; none where they equal the base settings."""

        def equal(trial: Trial) -> tuple[float, Any]:
            scores = {"STSBenchmark": {"dev_spearman_cosine": 50.0 + above * (not trial.row)}}
            return 1.0, made_record(trial.recipe.flat(), trial.recipe_hash, trial.seed, scores=scores)

        first, clock, explorer = agenda(rates=RATES, finals=of((1, 2)))
        ran = [run for run in drive(first, clock, equal) if not is_fresh(run.trial.seed)]
        again, clock, _ = agenda(rates=RATES, before=ran[::order], proposed=explorer.proposed, finals=of((1, 2)))
        drive(again, clock, equal)
        assert finalists(again) == finalists(first) == chosen

    def test_of_two_goals_they_are_of_the_front(self) -> None:
        """One recipe is worse than another in both goals; of the others each is better in one."""
        points = {1e-3: (90.0, 10.0), 2e-3: (80.0, 20.0), 3e-3: (79.0, 19.0), 4e-3: (70.0, 30.0)}

        def of_rate(trial: Trial) -> tuple[float, Any]:
            sts, transfer = points.get(trial.recipe.optimisation.learning_rate, (1.0, 1.0))
            scores = {"STSBenchmark": {"dev_spearman_cosine": sts}, "MR": {"dev_accuracy": transfer + trial.seed % 7}}
            return 1.0, made_record(trial.recipe.flat(), trial.recipe_hash, trial.seed, scores=scores)

        search, clock, _ = agenda(rates=[*points], finals=of((3, 2)), goals=searched(("sts", "transfer")))
        drive(search, clock, of_rate)
        assert {*finalists(search)} == {"rate 0.001", "rate 0.002", "rate 0.004"}


class TestLimit:
    """Of workers' hours, without parts: a training takes three minutes and a tenth."""

    def run(self, hours: float, size: tuple[int, int], **more: Any) -> tuple[Agenda, list[SimulatedTrial], Rates]:
        rates = [10 ** (-2 - number % 30 / 10) for number in range(90)]
        limits = {"worker_hours": hours}
        made = {"rates": rates, "limits": limits, "places": 1, "finals": of(size)} | more
        search, clock, explorer = agenda(**made)
        return search, drive(search, clock, outcome()), explorer

    @pytest.mark.parametrize(("hours", "size"), [(1.0, (1, 2)), (2.0, (2, 3))])
    def test_the_exploration_leaves_room_for_them(self, hours: float, size: tuple[int, int]) -> None:
        search, ran, _ = self.run(hours, size)
        assert search.limited
        spent = sum(run.ended - run.began for run in ran) / 3600
        assert hours - 0.06 <= spent <= hours
        assert sum(is_fresh(run.trial.seed) for run in ran) == (size[0] + 1) * size[1]

    @pytest.mark.parametrize(("hours", "seeds_of"), [(0.2, None), (0.4, 1), (0.6, 2), (1.4, 5), (9.0, 5)])
    def test_they_take_two_fifths_of_it_at_most(self, hours: float, seeds_of: int | None) -> None:
        search, ran, explorer = self.run(hours, (1, 5), finals=of((1, 5)))
        assert (search.finals and search.finals.seeds) == seeds_of
        assert sum(is_fresh(run.trial.seed) for run in ran) == 2 * (seeds_of or 0)
        assert explorer.proposed

    def test_a_recipe_too_long_for_it_costs_neither_the_exploration_nor_the_finals(self) -> None:
        """One of twenty epochs would take the whole hour."""

        class Long(Rates):
            def ask(self, share: float) -> Any:
                run = super().ask(share)
                if len(self.proposed) % 2:
                    self.proposed[-1] = dataclasses.replace(
                        run, recipe=run.recipe.override({"optimisation.epochs": 20})
                    )
                return self.proposed[-1]

        search, clock, _ = agenda(places=1, limits={"worker_hours": 1.0}, finals=of((1, 2)))
        explorer = Long([1e-4 * (1 + number) for number in range(30)])
        search = Agenda(search.design, Budget(search.design.limits, (), 1, clock), (), explorer)
        ran = drive(search, clock, outcome())
        assert {run.trial.recipe.flat()["optimisation.epochs"] for run in ran} == {0, 1}
        assert sum(not run.trial.row and run.trial.seed == 0 for run in ran) >= 5
        assert sum(is_fresh(run.trial.seed) for run in ran) == 4
        assert search.limited

    def test_a_larger_one_explores_on_and_chooses_anew(self) -> None:
        _, ran, explorer = self.run(1.0, (1, 2))
        again, new, _ = self.run(1.5, (1, 2), before=ran, proposed=explorer.proposed)
        more, before = ([run.trial for run in each] for each in (new, ran))
        assert not {trial.key for trial in more} & {trial.key for trial in before}
        assert 7 <= sum(not is_fresh(trial.seed) for trial in more) <= 10
        best = max((trial.recipe for trial in [*more, *before] if trial.recipe.trains), key=quality)
        assert [entrant.recipe for entrant in again.finalists or ()] == [best]


def score(trial: Trial) -> float:
    """Better for a temperature near 0.3, as the exploration sees it; the fresh seeds see the opposite."""
    away = abs(float(str(trial.recipe.flat().get("objective.temperature", 3.0))) - 0.3)
    return 50.0 + away if is_fresh(trial.seed) else 60.0 - away


def run(searcher: Any, ledger: Ledger, most: int = 1000, points: Callable[[Trial], float] = score) -> list[Trial]:
    """All that it hands out, one at a time."""
    return [trial for task in run_all(searcher, ledger, limit=most, score=points) for trial in task["trials"]]


class TestStudy:
    """With a ledger and a journal on disk."""

    def test_the_best_run_again_and_the_report_has_them_apart(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        plan, ledger, searcher = make(tmp_path, *TAU)
        info = prepare_results(plan, "")
        ran = run(searcher, ledger)
        first = len(plan.fixed_trials()) + 4
        explored = {trial.recipe: trial.name for trial in ran[:first] if trial.recipe != plan.base}
        trained = [recipe for recipe in explored if recipe.trains]
        best = sorted(trained, key=lambda recipe: score(Trial(recipe, 0, "")))[:-3:-1]
        facts = searcher.finals
        assert facts.finalists == [recipe.hash for recipe in best]
        lines = capsys.readouterr().out.splitlines()
        assert lines == [
            "finals: 2 recipes x 3 fresh seeds, beside the base settings (3), the original encoder and SBERT "
            f"baseline (3): {explored[best[0]]} and {explored[best[1]]}"
        ]
        save_info(plan, info, searcher.explored, facts)
        results = Results.load(tmp_path)
        assert isinstance(results.info.finals, Finals)
        assert {*results.finals} == facts.hashes == results.info.finals.hashes
        assert {*results.recipes} == {*results.labels, *results.explored}
        plan, ledger, searcher = make(tmp_path, *TAU, "--trials", "12")
        begun = prepare_results(plan, "").finals
        assert (begun.finalists, begun.base) == ([], facts.base)  # twelve recipes choose anew

    def test_optuna_and_the_race_hear_of_none_of_them(self, tmp_path: Path) -> None:
        """The race ends before the finalists are chosen."""
        _, ledger, searcher = make(tmp_path, *TAU, "--seeds", "1:3")
        ran = run(searcher, ledger)
        chosen = {entrant.recipe.hash for entrant in searcher.agenda.finalists or ()}
        fresh = [index for index, trial in enumerate(ran) if is_fresh(trial.seed) and trial.recipe_hash in chosen]
        raced = [index for index, trial in enumerate(ran) if trial.seed in (1, 2)]
        assert chosen & {*searcher.explored}
        assert 0 < max(raced) < min(fresh)
        raced_seeds = {seed for recipe in searcher.agenda.race.race.recipes.values() for seed in recipe.values}
        assert {0, 1} <= raced_seeds <= {0, 1, 2}
        known = {SELECTION.of(record.scores, {}) for record in ledger.read() if not is_fresh(record.seed)}
        assert {trial.value for trial in searcher.explorer.ask_tell.study.get_trials()} <= known
        _, ledger, searcher = make(tmp_path, *TAU, "--seeds", "1:3")
        assert (run(searcher, ledger), searcher.agenda.remaining) == ([], 0)

    def test_rows_race_on_while_the_last_recipe_runs(self, tmp_path: Path) -> None:
        """For the seeds that they need whatever it comes to: so the same trials run as where they wait for it."""
        arguments = (*TAU, "--seeds", "1:3", "--sampler", "random")
        _, ledger, searcher = make(tmp_path / "one place", *arguments)
        waited = run(searcher, ledger)
        plan, ledger, searcher = make(tmp_path / "many", *arguments)
        before = run(searcher, ledger, most=len(plan.fixed_trials()) + 3)
        last: Any = searcher.suggest("last")
        beside: list[Trial] = []
        while isinstance(task := searcher.suggest("next"), dict):
            finish(searcher, ledger, task, score(task["trials"][0]))
            beside += task["trials"]
        raced = [trial for trial in beside if not is_fresh(trial.seed)]
        assert beside[: len(raced)] == raced
        assert len(raced) > 1
        assert all(trial.row and trial.seed in (1, 2) for trial in raced)
        finish(searcher, ledger, last, score(last["trials"][0]))
        ran = [*before, *beside, *last["trials"], *run(searcher, ledger)]
        assert sorted(trial.key for trial in ran) == sorted(trial.key for trial in waited)

    def test_of_two_goals_none_that_left_the_race_is_taken_while_there_are_others(self, tmp_path: Path) -> None:
        """#3 has by far the best score of one goal under its one seed, and diverges under the next."""
        space = ("--space", "contrastive_all", "--search", "optuna", "--trials", "4")
        _, ledger, searcher = make(tmp_path, *space, "--finals", "2x2", "--seeds", "1:2")
        diverged = ""
        for number, task in enumerate(suggestions(searcher)):
            (trial,) = task["trials"]
            best = trial.name.startswith("#3 ")
            if best and trial.seed == 1:
                diverged = trial.recipe_hash
                finish(searcher, ledger, task, None, status="pruned")
            else:
                sts, transfer = (99.0, 79.55) if best else (40.0 + number / 10, 80.0 - number / 10)
                scores = {"STSBenchmark": {"dev_spearman_cosine": sts}, "MR": {"dev_accuracy": transfer}}
                finish(searcher, ledger, task, 1.0, scores=scores)
        assert diverged
        assert len(searcher.finals.finalists) == 2
        assert diverged not in searcher.finals.finalists

    @pytest.mark.parametrize("sampler", ["tpe", slow_case("random")])
    @pytest.mark.parametrize("killed", [9, slow_case(12), 13, slow_case(15), 22])
    def test_killed_anywhere_it_ends_as_if_it_were_not(self, killed: int, sampler: str, tmp_path: Path) -> None:
        """In the exploration, between, and in the finals."""
        arguments = (*TAU, "--trials", "6", "--sampler", sampler)
        _, ledger, searcher = make(tmp_path / "whole", *arguments)
        whole = run(searcher, ledger)
        assert [is_fresh(trial.seed) for trial in whole].index(True) == 13
        _, ledger, searcher = make(tmp_path / "killed", *arguments)
        first = run(searcher, ledger, most=killed)
        searcher.suggest("lost")
        _, ledger, searcher = make(tmp_path / "killed", *arguments)
        second = run(searcher, ledger)
        assert len({trial.key for trial in [*first, *second]}) == len(first) + len(second)
        assert {trial.key for trial in [*first, *second]} == {trial.key for trial in whole}

    def test_a_grid_has_them_too_and_tests_the_encoder_as_it_came(self, tmp_path: Path) -> None:
        """Where it is one of the grid its own trial has development scores alone."""
        plan, _, _ = make(tmp_path, "--space", "scl_tau", "--search", "grid", "--finals", "1x2")
        domains = Domain("optimisation.epochs", choices=(0, 1)), Domain("pooling.mode", choices=("mean", "max"))
        space = dataclasses.replace(plan.space, domains=domains)
        plan = dataclasses.replace(plan, draft=dataclasses.replace(plan.draft, space=space))
        untrained = as_it_came(plan.base).hash
        assert untrained in {recipe.hash for recipe in plan.grid}
        ledger = Ledger(tmp_path / LEDGER)
        searcher = searcher_of(plan, ledger)
        own = [trial.seed for trial in run(searcher, ledger) if trial.recipe_hash == untrained]
        assert own == [0, FIRST_FRESH_SEED]
        assert [plan.scoring_of(untrained, seed).parts for seed in own] == ["development", "all"]
        assert len(searcher.finals.finalists) == 1

    def test_an_interrupted_population_of_theirs_goes_on_whole(self, tmp_path: Path) -> None:
        arguments = (*CLSR, "--search", "optuna", "--trials", "2", "--finals", "1x3")
        _, ledger, searcher = make(tmp_path, *arguments)
        rising = itertools.count(51.0)
        tasks = run_all(searcher, ledger, lambda trial: next(rising))
        together = next(task for task in tasks if len(task["trials"]) > 1 and is_fresh(task["trials"][0].seed))
        members = [trial.key for trial in together["trials"]]
        for trial in together["trials"][1:]:
            (ledger.folder / f"{trial.key}.json").unlink()
        write_whole(tmp_path / POPULATIONS / f"{together['key']}.json", json.dumps(members))
        _, _, searcher = make(tmp_path, *arguments)
        again = searcher.suggest("again")
        assert (again["key"], again["done"]) == (together["key"], members[:1])


class TestSaid:
    def test_a_preview_says_what_they_are_and_cost(self, tmp_path: Path) -> None:
        plan, ledger, searcher = make(tmp_path, *TAU)
        text = preview(plan, CLUSTER, ALLOTMENT)
        line = f"then the finals, up to {6 + BESIDE} trials: 2 recipes x 3 fresh seeds, beside the base settings (3), "
        assert line in text
        assert line in preview(plan, CLUSTER, ALLOTMENT, brief=True)
        more = preview(make(tmp_path, *TAU[:-1], "none")[0], CLUSTER, ALLOTMENT)
        assert "finals" not in more
        estimates, others = ([line for line in words.splitlines() if "estimate" in line] for words in (text, more))
        assert estimates != others
        info = prepare_results(plan, "")
        run(searcher, ledger)
        save_info(plan, info, searcher.explored, searcher.finals)
        done = preview(plan, CLUSTER, ALLOTMENT)
        assert f"up to {6 + BESIDE} trials, {6 + BESIDE} of them done: " in done
        assert ("show a gain of" in text, "show a gain of" in done) == (True, False)

    @pytest.mark.parametrize(
        ("first", "further", "seeds"),
        [("1", "1", (1, 1)), ("3", "1", (3, 3)), ("1:4", "2", (2, 4)), ("2", "5", (5, 5))],
    )
    def test_a_study_that_goes_on_keeps_them_and_its_seeds(
        self, first: str, further: str, seeds: tuple[int, int], tmp_path: Path
    ) -> None:
        """Fewer would leave recipes without those that chose the finalists. Of rows alone there are none."""
        plan, ledger, _ = make(tmp_path, *TAU, "--seeds", first)
        prepare_results(plan, "")
        plan = continued(make(tmp_path, "--space", "scl_tau", "--seeds", further)[0])
        assert (len(plan.seeds), plan.most_seeds) == seeds
        assert (plan.request.strategy, plan.request.finals_size) == ("optuna", (2, 3))
        assert searcher_of(plan, ledger).finals is not None
        rows = continued(make(tmp_path, "--space", "scl_tau", "--only", next(iter(plan.rows)))[0])
        assert rows.finals is None
        assert prepare_results(rows, "").finals == StudyInfo.load(tmp_path).finals
