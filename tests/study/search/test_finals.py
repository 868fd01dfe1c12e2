"""How a search ends, by itself, and as a study hands it out: with a ledger on disk and no Ray cluster."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from reports.ledger import LEDGER, Evaluation, Finals, Ledger, Record, StudyInfo, fresh_seeds, is_fresh, trial_key
from reports.ledger.finals import FIRST_FRESH, PART
from reports.ledger.folders import POPULATIONS
from reports.recipe_names import called
from reports.results import Results
from reports.testing import changed
from search_spaces.goals import SELECTION
from search_spaces.space import Domain
from study.cli.options import parse, parse_finals
from study.dry_run import preview
from study.engine.cluster import Allotment, Cluster
from study.results_folder.check import continued
from study.results_folder.prepare import prepare_results, save_info
from study.rows import as_it_came
from study.search.budget import Budget
from study.search.finals import SearchFinals, base_seeds, choose, fitted, shortage
from study.trial import Trial
from tests.study.search.test_search import CLSR, dev, finish, make, run_all, searcher_of
from trainables.errors import UserError
from trainables.files import write_whole
from trainables.recipe import Recipe

CLUSTER, ALLOTMENT = Cluster(True, ({"CPU": 2.0},)), Allotment(1, 1, 0.0, 1, 1)
TAU = ("--space", "scl_tau", "--search", "optuna", "--trials", "4", "--finals", "2x3")
BASE, BASELINE, CAME = 6, 3, 1
"""Trials beside two finalists under three seeds."""


class TestAsked:
    def test_recipes_and_seeds_or_none(self) -> None:
        assert parse_finals("3x5") == (3, 5)
        assert parse_finals("none") is None
        assert parse(["--space", "scl_tau", "--search", "grid"]).finals == (3, 5)
        assert parse(["--space", "scl_tau"]).finals is None

    @pytest.mark.parametrize("text", ["3", "x", "3x", "ax5", "0x5", "3x1", "-1x5", "3x5x2", "1000x5", "3 by 5", ""])
    def test_anything_else_is_refused(self, text: str) -> None:
        with pytest.raises(UserError, match="--finals"):
            parse_finals(text)

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

    @pytest.mark.parametrize(("asked", "seeds"), [((3, 5), 11), ((1, 5), 6), ((4, 3), 8), ((2, 3), 6)])
    def test_the_base_has_more_seeds(self, asked: tuple[int, int], seeds: int) -> None:
        assert base_seeds(*asked) == seeds


class TestBeside:
    def test_base_and_baseline_and_the_encoder_each_once(self) -> None:
        base, other = Recipe(), Recipe({"objective.temperature": 0.5})
        asked = SearchFinals.of(3, 5, base, {"SCL": base, "baseline": other}, "baseline")
        assert [(one.name, [*one.seeds]) for one in asked.beside] == [
            ("base settings", [*fresh_seeds(11)]),
            ("encoder as it came", [FIRST_FRESH]),
            ("baseline", [*fresh_seeds(5)]),
        ]
        assert asked.in_words() == (
            "3 recipes x 5 fresh seeds, beside the base settings (11), the encoder as it came and baseline (5)"
        )
        same = SearchFinals.of(3, 5, base, {"SCL": base}, "SCL")
        assert [one.name for one in same.beside] == ["base settings", "encoder as it came"]
        assert same.told().baseline == same.told().base == base.hash

    def test_a_row_that_no_seed_changes_has_run_already(self) -> None:
        base = Recipe()
        asked = SearchFinals.of(3, 5, base, {"untrained": as_it_came(base)}, "untrained")
        assert [(one.name, len(one.seeds)) for one in asked.beside] == [
            ("base settings", 11),
            ("encoder as it came", 0),
        ]
        assert asked.told().baseline == asked.told().as_it_came

    def test_a_plain_transformer_comes_with_what_is_set_of_it_and_the_mean(self) -> None:
        changes = {"encoder.layers": 1, "encoder.query_prompt": "query: ", "encoder.max_length": 16}
        base = Recipe({"encoder.name": "scenes-small", "encoder.adapter": "mlp", "pooling.mode": "cls", **changes})
        found = as_it_came(base)
        flat = found.flat()
        assert (flat["optimisation.epochs"], flat["encoder.adapter"], flat["pooling.mode"]) == (0, "none", "mean")
        assert found.encoder == base.override({"encoder.adapter": "none"}).encoder
        assert not found.uses_seed
        assert found == as_it_came(Recipe({"encoder.name": "scenes-small", **changes}))

    @pytest.mark.parametrize(
        ("dense", "changes", "kind"),
        [
            (False, {}, "transformer"),
            (True, {}, "pipeline"),
            (True, {"encoder.max_length": None}, "pipeline"),
            (True, {"encoder.max_length": 64}, "transformer"),
            (True, {"encoder.layers": 1}, "transformer"),
            (True, {"encoder.query_prompt": "ask: "}, "transformer"),
        ],
    )
    def test_a_finished_model_comes_through_its_own_pipeline_only_where_nothing_else_follows_it(
        self, dense: bool, changes: dict[str, Any], kind: str, tmp_path: Path
    ) -> None:
        names = ["Transformer", "Pooling", *["Dense"] * dense, "Normalize"]
        paths = ["", *(f"{place}_{name}" for place, name in enumerate(names[1:], start=1))]
        modules = [{"type": f"sentence_transformers.models.{name}", "path": path}
                   for name, path in zip(names, paths, strict=True)]  # fmt: skip
        (tmp_path / "1_Pooling").mkdir()
        (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}', encoding="utf-8")
        (tmp_path / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
        (tmp_path / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
        base = Recipe({"encoder.name": str(tmp_path), "pooling.mode": "mean", **changes})
        found = as_it_came(base)
        assert found.encoder.kind == kind
        assert found.flat().get("pooling.mode") == ("cls" if kind == "transformer" else None)
        if kind == "transformer":
            assert found.encoder == base.encoder

    def test_room_is_kept_in_a_budget(self) -> None:
        budget = Budget({"worker_hours": 1.0}, [Record({}, "a", 0, cost={"seconds": 360.0})])
        assert (budget.room(), budget.room(kept=4), budget.room(kept=9)) == (9, 3, 0)  # half more for a whole trial

    def test_room_is_kept_for_whole_trials(self) -> None:
        """One that was stopped, was scored on development parts alone, or trained nothing, is cheaper."""
        trained, untrained = Recipe(), as_it_came(Recipe())
        development = Evaluation("full", {}, parts="development")

        def cost(recipe: Recipe, seed: int, seconds: float, evaluation: Evaluation | None, stopped: bool) -> Record:
            evaluations = [] if evaluation is None else [evaluation]
            status: Any = "pruned" if stopped else "finished"
            return Record(dict(recipe.flat()), recipe.hash, seed, status, evaluations, cost={"seconds": seconds})

        budget = Budget({"worker_hours": 1.0}, [cost(trained, 0, 60, None, True)])
        budget.add(cost(trained, 1, 180, development, False))
        budget.add(cost(untrained, 0, 30, Evaluation("full", {}), False))
        assert budget.guess_whole("worker_hours") == pytest.approx(1.5 * 90 / 3600)
        budget.add(cost(trained, 2, 720, Evaluation("full", {}), False))
        assert budget.guess_whole("worker_hours") == pytest.approx(720 / 3600)
        assert (budget.room(kept=2), budget.room(kept=3), budget.room(kept=4)) == (4, 1, 0)  # of 247.5 s each


def score(trial: Trial) -> float:
    """Better for a temperature near 0.3, as the exploration sees it; the fresh seeds see the opposite."""
    away = abs(float(str(trial.recipe.flat().get("objective.temperature", 3.0))) - 0.3)
    return 50.0 + away if is_fresh(trial.seed) else 60.0 - away


def run(searcher: Any, ledger: Ledger, most: int = 1000) -> list[Trial]:
    """All that it hands out, one at a time."""
    return [trial for task in run_all(searcher, ledger, limit=most, score=score) for trial in task["trials"]]


def run_waiting(searcher: Any, ledger: Ledger) -> list[Trial]:
    """The same, up to where it waits for what was begun before."""
    ran = []
    while isinstance(task := searcher.suggest("next"), dict):
        finish(searcher, ledger, task, score(task["trials"][0]))
        ran += task["trials"]
    return ran


def finalists(trials: list[Trial]) -> list[str]:
    """Of the trials of finals, in their order, those of finalists."""
    named = [trial.name for trial in trials if is_fresh(trial.seed)]
    return [
        name for name in dict.fromkeys(named) if name not in ("base settings", "encoder as it came", "SBERT baseline")
    ]


class TestStudy:
    def test_the_best_run_again_under_fresh_seeds_once_the_exploration_is_over(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        plan, ledger, searcher = make(tmp_path, *TAU)
        total = searcher.agenda.remaining
        fixed = len(plan.fixed_trials())
        assert total == fixed + 4 + 2 * 3 + BASE + BASELINE + CAME
        ran = run(searcher, ledger)
        assert searcher.agenda.remaining == 0
        assert len(ran) == total
        first = fixed + 4
        assert not any(is_fresh(trial.seed) for trial in ran[:first])
        finals = ran[first:]
        explored = {trial.recipe.hash: trial for trial in ran[:first] if trial.recipe != plan.base}
        best = sorted((trial for trial in explored.values() if trial.recipe.trains), key=score)[:-3:-1]
        assert searcher.finals is not None
        told = searcher.finals.told
        assert told.finalists == [trial.recipe_hash for trial in best]
        assert {trial.recipe_hash for trial in finals} == told.hashes
        for key in told.finalists:
            assert [trial.seed for trial in finals if trial.recipe_hash == key] == [*fresh_seeds(3)]
        assert [trial.seed for trial in finals if trial.recipe_hash == told.base] == [*fresh_seeds(BASE)]
        names = ", ".join(finalists(finals))
        assert "finals: 2 recipes x 3 fresh seeds, beside the base settings (6), " in (said := capsys.readouterr().out)
        assert said.rstrip().endswith(f": {names}")

    def test_one_lucky_seed_makes_no_finalist(self, tmp_path: Path) -> None:
        """The best fifth run once more, and who is best in both is in. Neither Optuna nor a table hears of that."""
        plan, ledger, searcher = make(tmp_path, *TAU, "--trials", "10")
        info = prepare_results(plan, "")

        def lucky(trial: Trial) -> float:
            luck = {0: 20.0, PART: -25.0} if trial.name.startswith("#7 ") else {}
            return score(trial) + luck.get(trial.seed, 0.0)

        ran = [trial for task in run_all(searcher, ledger, score=lucky) for trial in task["trials"]]
        again = [trial for trial in ran if trial.seed == PART]
        assert len(again) == 4 > 16 / 5
        assert again[0].name.startswith("#7 ")
        assert plan.evaluation_of(again[0].recipe_hash, PART) is plan.exploring
        assert searcher.finals is not None
        told = searcher.finals.told
        assert {*told.finalists} < {trial.recipe_hash for trial in again}
        assert again[0].recipe_hash not in told.finalists
        assert searcher.explorer is not None
        values = {trial.value for trial in searcher.explorer.ask_tell.study.get_trials()}
        assert lucky(again[0]) not in values
        save_info(plan, info, searcher.explored, ledger, told)
        found = Results.load(tmp_path)
        assert {record.key for record in found.semifinal} == {trial.key for trial in again}
        assert not any(record.seed == PART for record in found.records)
        assert len(found.of_all_trials) == len(ran)

    def test_who_fails_in_the_semifinal_comes_after_all_others(self, tmp_path: Path) -> None:
        _, ledger, searcher = make(tmp_path, *TAU, "--trials", "10")
        failed = ""
        while isinstance(task := searcher.suggest("next"), dict):
            (trial,) = task["trials"]
            fails = trial.seed == PART and not failed
            failed = trial.recipe_hash if fails else failed
            finish(searcher, ledger, task, None if fails else score(trial))
        assert searcher.finals is not None
        assert failed not in searcher.finals.told.finalists
        assert len(searcher.finals.told.finalists) == 2

    @pytest.mark.parametrize("limit", [(), ("--limit", "worker_hours=100")])
    def test_where_nothing_was_found_to_judge_it_says_what_runs(
        self, limit: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        _, ledger, searcher = make(tmp_path, *TAU, *limit)
        while isinstance(task := searcher.suggest("next"), dict):
            (trial,) = task["trials"]
            finish(searcher, ledger, task, score(trial) if is_fresh(trial.seed) else None)
        said = capsys.readouterr().out.splitlines()[-1]
        alone = "finals: no recipe of the search has a score, so the base settings (6), "
        assert said.startswith(alone)
        assert said.endswith(" run alone; a larger --limit leaves room for a search" if limit else " run alone")

    def test_optuna_hears_nothing_of_fresh_seeds(self, tmp_path: Path) -> None:
        _, ledger, searcher = make(tmp_path, *TAU)
        run(searcher, ledger)
        assert searcher.explorer is not None
        trials = searcher.explorer.ask_tell.study.get_trials()
        _, _, again = make(tmp_path, *TAU)
        assert again.explorer.ask_tell is not None
        assert [trial.value for trial in again.explorer.ask_tell.study.get_trials()] == [
            trial.value for trial in trials
        ]
        assert {trial.value for trial in trials} <= {
            SELECTION.of(record.scores, {}) for record in ledger.read() if not is_fresh(record.seed)
        }

    @pytest.mark.parametrize("ends", [10.0, None])
    def test_no_choice_hears_of_a_fresh_seed(self, ends: float | None, tmp_path: Path) -> None:
        """Also where the search asks for the base itself, whose own seed still runs while a fresh one ends."""
        key = "objective.temperature"
        plan, ledger, searcher = make(tmp_path, *TAU, "--trials", "1", "--seeds", "1:3")
        assert searcher.explorer is not None
        assert searcher.race is not None
        searcher.explorer.ask_tell.study.enqueue_trial({key: plan.base.flat()[key]})
        own: Any = None
        while not is_fresh((task := searcher.suggest("next"))["trials"][0].seed):  # type: ignore[index]
            if task["trials"][0].recipe == plan.base:  # type: ignore[index]
                own = task
            else:
                finish(searcher, ledger, task, 60.0)
        assert searcher.explored == [plan.base.hash]
        assert task["trials"][0].recipe == plan.base  # type: ignore[index]
        finish(searcher, ledger, task, ends)
        assert searcher.race.race.recipes[plan.base.hash].values == {}
        finish(searcher, ledger, own, 50.0)
        asked = [one for one in searcher.explorer.ask_tell.study.get_trials() if "name" in one.user_attrs]
        assert [one.value for one in asked] == [50.0]

    def test_the_race_hears_of_no_finalist_that_was_explored(self, tmp_path: Path) -> None:
        _, ledger, searcher = make(tmp_path, *TAU, "--seeds", "1:3")
        ran = run(searcher, ledger)
        assert {trial.recipe_hash for trial in ran if is_fresh(trial.seed)} & {*searcher.explored}
        assert searcher.race is not None
        told = {seed for recipe in searcher.race.race.recipes.values() for seed in recipe.values}
        assert told <= {0, 1, 2}

    @pytest.mark.parametrize("sampler", ["tpe", "random"])
    @pytest.mark.parametrize("killed", [9, 16, 17, 18, 20, 29])
    def test_killed_anywhere_it_ends_as_if_it_were_not(self, killed: int, sampler: str, tmp_path: Path) -> None:
        """In the exploration, between, in the semifinal, and in the finals."""
        arguments = (*TAU, "--trials", "10", "--sampler", sampler)
        _, ledger, searcher = make(tmp_path / "whole", *arguments)
        whole = run(searcher, ledger)
        assert [trial.seed for trial in whole].index(PART) == 17
        _, ledger, searcher = make(tmp_path / "killed", *arguments)
        first = run(searcher, ledger, most=killed)
        searcher.suggest("lost")
        _, ledger, searcher = make(tmp_path / "killed", *arguments)
        second = run(searcher, ledger)
        assert len(first) == killed
        assert len({trial.key for trial in [*first, *second]}) == len(first) + len(second)
        assert {trial.key for trial in [*first, *second]} == {trial.key for trial in whole}

    def test_an_extension_chooses_anew_and_keeps_what_is_done(self, tmp_path: Path) -> None:
        arguments = [*TAU, "--sampler", "random"]
        plan, ledger, searcher = make(tmp_path, *arguments)
        info = prepare_results(plan, "")
        run(searcher, ledger)
        assert searcher.finals is not None
        before = searcher.finals.told
        save_info(plan, info, searcher.explored, ledger, before)
        assert StudyInfo.load(tmp_path).finals == before
        arguments[arguments.index("4")] = "12"
        plan, ledger, searcher = make(tmp_path, *arguments)
        open_now = prepare_results(plan, "").finals
        assert open_now is not None
        assert (open_now.finalists, open_now.base) == ([], before.base)
        more = run(searcher, ledger)
        assert searcher.finals is not None
        after = searcher.finals.told
        new = [key for key in after.finalists if key not in before.finalists]
        assert new, "eight random recipes more hold a better one"
        again, finals = more[8:12], more[12:]
        assert {trial.seed for trial in again} == {PART}
        assert {*after.finalists} <= {trial.recipe_hash for trial in again}
        assert sorted(trial.key for trial in finals) == sorted(
            f"{key}-{seed}" for key in new for seed in fresh_seeds(3)
        )

    def test_more_seeds_of_the_finals_extend_them(self, tmp_path: Path) -> None:
        _, ledger, searcher = make(tmp_path, *TAU)
        run(searcher, ledger)
        _, ledger, searcher = make(tmp_path, *(TAU[:-1]), "2x4")
        more = run(searcher, ledger)
        assert [trial.seed for trial in more if trial.name == "base settings"] == [fresh_seeds(7)[-1]]
        assert [trial.seed for trial in more if trial.name != "base settings"] == [fresh_seeds(4)[-1]] * 3

    def test_known_opponents_fill_idle_places_while_the_exploration_ends(self, tmp_path: Path) -> None:
        plan, ledger, searcher = make(tmp_path, *TAU)
        run(searcher, ledger, most=len(plan.fixed_trials()) + 3)
        last = searcher.suggest("last")
        assert isinstance(last, dict)
        beside = [searcher.suggest(f"b{number}") for number in range(BASE + BASELINE + CAME)]
        assert all(isinstance(task, dict) for task in beside)
        assert searcher.suggest("wait") is None
        for task in beside:
            finish(searcher, ledger, task, 50.0)
        assert searcher.suggest("wait") is None
        finish(searcher, ledger, last, 99.0)
        assert len(run(searcher, ledger)) == 2 * 3
        assert searcher.finals is not None
        assert searcher.finals.told.finalists[0] == last["trials"][0].recipe_hash

    @pytest.mark.parametrize("last", [99.0, 0.0, None])
    @pytest.mark.parametrize("killed", [False, True])
    def test_who_is_sure_of_the_semifinal_begins_while_the_last_recipe_runs(
        self, last: float | None, killed: bool, tmp_path: Path
    ) -> None:
        """The same trials run as where each waits for all before it, whatever the last one comes to."""
        arguments = (*TAU, "--trials", "10", "--sampler", "random")

        def told(trial: Trial) -> float | None:
            return last if trial.name.startswith("#10 ") and trial.seed == 0 else score(trial)

        _, ledger, searcher = make(tmp_path / "one place", *arguments)
        waited = run_all(searcher, ledger, score=told)
        plan, ledger, searcher = make(tmp_path / "many", *arguments)
        keys = [trial.key for trial in run(searcher, ledger, most=len(plan.fixed_trials()) + 9)]
        tenth: Any = searcher.suggest("last")
        left = searcher.agenda.remaining
        ahead: list[Any] = [searcher.suggest(f"a{number}") for number in range(3)]
        assert [task["trials"][0].seed for task in ahead] == [PART] * 3
        beside: Any = searcher.suggest("beside")
        assert is_fresh(beside["trials"][0].seed)
        assert searcher.agenda.remaining == left
        for task in ahead if killed else ahead[:1]:
            finish(searcher, ledger, task, score(task["trials"][0]))
        if killed:
            _, ledger, searcher = make(tmp_path / "many", *arguments)
            tenth = searcher.suggest("last")
        finish(searcher, ledger, tenth, told(tenth["trials"][0]))
        going = [beside, *ahead[1:]]
        after = [searcher.suggest(f"b{number}") for number in range(40)]
        going = [*([] if killed else going), *(task for task in after if isinstance(task, dict))]
        for task in going:
            finish(searcher, ledger, task, told(task["trials"][0]))
        rest = run(searcher, ledger)
        ran = [*(task["trials"][0].key for task in (tenth, *ahead[: 3 if killed else 1], *going)), *keys]
        ran += [trial.key for trial in rest]
        assert sorted(ran) == sorted(task["trials"][0].key for task in waited)
        assert searcher.agenda.remaining == 0

    def test_nobody_is_sure_of_the_semifinal_of_two_goals(self, tmp_path: Path) -> None:
        plan, ledger, searcher = make(tmp_path, *TAU, "--trials", "10", "--goals", "sts,encode_ms")
        for number in range(len(plan.fixed_trials()) + 9):
            finish(
                searcher,
                ledger,
                searcher.suggest(f"t{number}"),
                1.0,
                scores=dev(50.0 + number),
                cost={"encode_ms": number},
            )
        assert isinstance(searcher.suggest("last"), dict)
        assert is_fresh(searcher.suggest("next")["trials"][0].seed)  # type: ignore[index]

    def test_the_longest_of_the_semifinal_begin_first_unless_a_limit_may_end_it(self, tmp_path: Path) -> None:
        def lengths(*limit: str) -> list[float]:
            folder = tmp_path / f"limited{len(limit)}"
            _, ledger, searcher = make(folder, *TAU, "--trials", "10", "--sampler", "random", *limit)
            found, took = [], dict[str, float]()
            while isinstance(task := searcher.suggest("next"), dict):
                (trial,) = task["trials"]
                seconds = took.setdefault(trial.recipe_hash, 60.0 + (7 * len(took)) % 11)
                found += [seconds] if trial.seed == PART else []
                finish(searcher, ledger, task, 1.0, scores=dev(score(trial)), cost={"seconds": seconds})
            return found

        alone, limited = lengths(), lengths("--limit", "worker_hours=100")
        assert alone == sorted(limited, reverse=True) != limited

    def test_what_fails_in_the_finals_is_not_tried_again_in_this_run(self, tmp_path: Path) -> None:
        plan, ledger, searcher = make(tmp_path, *TAU)
        run(searcher, ledger, most=len(plan.fixed_trials()) + 4)
        finish(searcher, ledger, searcher.suggest("fails"), None)
        run(searcher, ledger)
        assert searcher.agenda.remaining == 0
        _, ledger, searcher = make(tmp_path, *TAU)
        assert len(run(searcher, ledger)) == 1

    def test_without_finals_the_search_ends_with_its_exploration(self, tmp_path: Path) -> None:
        plan, ledger, searcher = make(tmp_path, *TAU[:-1], "none")
        assert len(run(searcher, ledger)) == len(plan.fixed_trials()) + 4
        assert prepare_results(plan, "").finals is None

    def test_a_grid_has_finals_too(self, tmp_path: Path) -> None:
        plan, ledger, searcher = make(tmp_path, "--space", "scl_tau", "--search", "grid", "--finals", "2x3")
        ran = run(searcher, ledger)
        assert len(ran) == len(plan.fixed_trials()) + 2 * 3 + BASE + BASELINE + CAME
        assert len(finalists(ran)) == 2

    def test_the_encoder_as_it_came_is_tested_where_the_grid_has_it_too(self, tmp_path: Path) -> None:
        """Its own trial of the search has development scores alone."""
        plan, _, _ = make(tmp_path, "--space", "scl_tau", "--search", "grid", "--finals", "1x2")
        domains = Domain("optimisation.epochs", choices=(0, 1)), Domain("pooling.mode", choices=("mean", "max"))
        space = dataclasses.replace(plan.space, domains=domains)
        plan = dataclasses.replace(plan, draft=dataclasses.replace(plan.draft, space=space))
        assert plan.finals is not None
        came = plan.finals.as_it_came.recipe.hash
        assert came in {recipe.hash for recipe in plan.grid}
        ledger = Ledger(tmp_path / LEDGER)
        seeds = [trial.seed for trial in run(searcher_of(plan, ledger), ledger) if trial.recipe_hash == came]
        assert seeds == [0, FIRST_FRESH]
        assert [plan.asked_of(came, seed).parts for seed in seeds] == ["development", "all"]

    def test_a_race_ends_before_the_finalists_are_chosen(self, tmp_path: Path) -> None:
        _, ledger, searcher = make(tmp_path, *TAU, "--seeds", "1:3")
        ran = run(searcher, ledger)
        places = [place for place, trial in enumerate(ran) if is_fresh(trial.seed)]
        chosen = [place for place in places if ran[place].name in finalists(ran)]
        raced = [place for place, trial in enumerate(ran) if trial.seed in (1, 2)]
        assert raced
        assert max(raced) < min(chosen)
        _, ledger, searcher = make(tmp_path, *TAU, "--seeds", "1:3")
        assert (searcher.agenda.remaining, run(searcher, ledger)) == (0, [])

    def test_rows_race_on_while_the_last_recipe_runs(self, tmp_path: Path) -> None:
        """For the seeds that they need whatever it comes to: so the same trials run as where they wait for it."""
        arguments = (*TAU, "--seeds", "1:3", "--sampler", "random")
        _, ledger, searcher = make(tmp_path / "one place", *arguments)
        waited = run(searcher, ledger)
        plan, ledger, searcher = make(tmp_path / "many", *arguments)
        before = run(searcher, ledger, most=len(plan.fixed_trials()) + 3)
        last: Any = searcher.suggest("last")
        beside = run_waiting(searcher, ledger)
        raced = [trial for trial in beside if not is_fresh(trial.seed)]
        assert beside[: len(raced)] == raced
        assert len(raced) > 1
        assert all(trial.row and trial.seed in (1, 2) for trial in raced)
        finish(searcher, ledger, last, score(last["trials"][0]))
        ran = [*before, *beside, *last["trials"], *run(searcher, ledger)]
        assert sorted(trial.key for trial in ran) == sorted(trial.key for trial in waited)

    def test_neither_the_base_nor_a_copy_is_a_finalist(self, tmp_path: Path) -> None:
        """Two rows that score the same to the last digit are one recipe; the base is what all are compared with."""
        plan, ledger, searcher = make(tmp_path, *TAU)
        base = [trial.name for trial in plan.fixed_trials() if trial.recipe == plan.base]
        assert base
        best, copy = [trial.name for trial in plan.fixed_trials() if trial.name not in (*base, "SBERT baseline")][:2]
        points = {base[0]: 99.0, best: 90.0, copy: 90.0}
        ran = []
        while isinstance(task := searcher.suggest(f"t{len(ran)}"), dict):
            trial = task["trials"][0]
            ran.append(trial)
            found = points.get(trial.name, 10.0 + len(ran)) + 0.01 * len(ran) * (trial.name not in points)
            numbers = {"dev_spearman_cosine": found, "spearman_cosine": found, "pearson": found, "dev_pearson": found}
            finish(searcher, ledger, task, 1.0, scores={"STSBenchmark": numbers})
        names = finalists(ran)
        assert len(names) == 2
        assert names[0] == best
        assert names[1] not in (*base, copy)

    def test_of_two_goals_the_finalists_are_of_the_front(self, tmp_path: Path) -> None:
        """The last but one is worse than the last in both goals; of the others each is better in one."""
        arguments = ("--space", "contrastive_all", "--search", "optuna", "--trials", "6", "--finals", "3x2")
        _, ledger, searcher = make(tmp_path, *arguments)
        ran: list[Trial] = []
        while isinstance(task := searcher.suggest(f"t{len(ran)}"), dict):
            number, trial = len(ran), task["trials"][0]
            worse = 20.0 if trial.name.startswith("#5 ") else 0.0
            finish(searcher, ledger, task, 1.0, scores=dev(40.0 + number - worse, 80.0 - number - worse))
            ran.append(trial)
        assert searcher.finals is not None
        told = searcher.finals.told.finalists
        explored = [trial for trial in ran if not is_fresh(trial.seed) and trial.recipe.trains]
        names = {trial.recipe_hash: trial.name for trial in explored}
        assert len(told) == 3
        chosen = [names[key].partition(" ")[0] for key in told]
        assert "#5" not in chosen
        assert "#6" in chosen

    def test_of_two_goals_none_that_left_the_race_is_taken_while_there_are_others(self, tmp_path: Path) -> None:
        """#3 has by far the best score of one goal under its one seed, and diverges under the next."""
        space = ("--space", "contrastive_all", "--search", "optuna", "--trials", "4")
        _, ledger, searcher = make(tmp_path, *space, "--finals", "2x2", "--seeds", "1:2")
        ran: list[Trial] = []
        diverged = ""
        while isinstance(task := searcher.suggest(f"t{len(ran)}"), dict):
            trial = task["trials"][0]
            best = trial.name.startswith("#3 ")
            if best and trial.seed == 1:
                diverged = trial.recipe_hash
                finish(searcher, ledger, task, None, status="pruned")
            else:
                scores = dev(99.0, 79.55) if best else dev(40.0 + len(ran) / 10, 80.0 - len(ran) / 10)
                finish(searcher, ledger, task, 1.0, scores=scores)
            ran.append(trial)
        assert searcher.finals is not None
        assert diverged
        assert len(searcher.finals.told.finalists) == 2
        assert diverged not in searcher.finals.told.finalists

    def test_what_an_earlier_search_of_the_study_explored_may_be_in_them(self, tmp_path: Path) -> None:
        plan, ledger, searcher = make(tmp_path, *TAU[:-1], "none", "--sampler", "random")
        info = prepare_results(plan, "")
        run(searcher, ledger)
        save_info(plan, info, searcher.explored, ledger)
        best = searcher.explored[2]
        record = ledger.get(best, 0)
        assert record is not None
        ledger.write(changed(record, scores=dev(99.0)))
        plan, ledger, searcher = make(tmp_path, "--space", "scl_tau", "--search", "grid", "--finals", "2x3")
        info = prepare_results(plan, "")
        run(searcher, ledger)
        assert searcher.finals is not None
        assert searcher.finals.told.finalists[0] == best
        save_info(plan, info, searcher.explored, ledger, searcher.finals.told)
        results = Results.load(tmp_path)
        names = [called(results, key) for key in searcher.finals.told.finalists]
        assert names[0].startswith("#3 ")
        assert [one.name for one in searcher.finals.finalists or ()] == names

    def test_an_interrupted_population_of_the_finals_goes_on_whole(self, tmp_path: Path) -> None:
        arguments = (*CLSR, "--search", "optuna", "--trials", "2", "--finals", "1x3")
        _, ledger, searcher = make(tmp_path, *arguments)
        tasks = []
        while isinstance(task := searcher.suggest(f"t{len(tasks)}"), dict):
            tasks.append(task)
            finish(searcher, ledger, task, 50.0 + len(tasks))
        together = next(task for task in tasks if len(task["trials"]) > 1 and is_fresh(task["trials"][0].seed))
        members = [trial.key for trial in together["trials"]]
        for trial in together["trials"][1:]:
            (ledger.folder / f"{trial.key}.json").unlink()
        write_whole(tmp_path / POPULATIONS / f"{together['key']}.json", json.dumps(members))
        _, _, searcher = make(tmp_path, *arguments)
        assert searcher.agenda.remaining == len(members) - 1
        again = searcher.suggest("again")
        assert isinstance(again, dict)
        assert (again["key"], again["done"]) == (together["key"], members[:1])

    def test_trials_in_the_finals_are_never_stopped(self, tmp_path: Path) -> None:
        plan, _, _ = make(tmp_path, *TAU, "--scheduler", "asha")
        assert plan.may_stop(Trial(plan.base, 0, "explored"))
        assert not plan.may_stop(Trial(plan.base, fresh_seeds(1)[0], "final"))

    def test_the_report_has_them_apart(self, tmp_path: Path) -> None:
        plan, ledger, searcher = make(tmp_path, *TAU)
        info = prepare_results(plan, "")
        run(searcher, ledger)
        assert searcher.finals is not None
        save_info(plan, info, searcher.explored, ledger, searcher.finals.told)
        found = Results.load(tmp_path)
        assert isinstance(found.info.finals, Finals)
        assert {*found.finals} == found.info.finals.hashes
        assert {*found.recipes} == {*found.labels, *found.explored}


class TestLimit:
    """An hour of a worker has room for 20 trials of three minutes."""

    LIMIT = ("--space", "scl_tau", "--search", "optuna", "--trials", "30", "--finals", "1x2", "--limit")

    def run(self, searcher: Any, ledger: Ledger) -> list[Trial]:
        ran = []
        while isinstance(task := searcher.suggest(f"t{len(ran)}"), dict):
            finish(searcher, ledger, task, score(task["trials"][0]), cost={"seconds": 180.0})
            ran += task["trials"]
        return ran

    def test_the_exploration_leaves_room_for_the_finals(self, tmp_path: Path) -> None:
        plan, ledger, searcher = make(tmp_path, *self.LIMIT, "worker_hours=1")
        ran = self.run(searcher, ledger)
        finals = [trial for trial in ran if is_fresh(trial.seed)]
        assert (len(ran), len(finals)) == (20, 2 + 3 + 2 + 1)
        assert ran[-len(finals) :] == finals
        assert searcher.agenda.limited
        again = [trial.seed for trial in ran].count(PART)
        assert again == 2  # a fifth of those that were explored
        assert searcher.agenda.remaining == len(plan.fixed_trials()) + 30 - (len(ran) - len(finals) - again)
        _, ledger, searcher = make(tmp_path, *self.LIMIT, "worker_hours=1")
        assert searcher.agenda.limited
        assert self.run(searcher, ledger) == []

    @pytest.mark.parametrize(
        ("hours", "size"), [(3.3, (3, 5)), (3.1, (2, 5)), (2.1, (2, 4)), (1.7, (2, 3)), (0.5, (2, 3))]
    )
    def test_a_small_limit_has_small_finals_killed_or_not(
        self, hours: float, size: tuple[int, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        arguments = ("--space", "scl_tau", "--search", "optuna", "--trials", "90", "--limit", f"worker_hours={hours}")
        told: list[Any] = []
        plan, ledger, _ = make(tmp_path, *arguments)
        plan = plan.asking(dataclasses.replace(plan.request, finals=(3, 5), fit_finals=True))  # as by default
        searcher = searcher_of(plan, ledger, lambda explored, finals: told.append(finals))
        first = next(trial for trial in plan.fixed_trials() if trial.recipe.trains)
        while isinstance(task := searcher.suggest("t"), dict):
            finish(searcher, ledger, task, 50.0, cost={"seconds": 180.0})
            if task["trials"][0].key == first.key:
                break
        assert searcher.finals is not None
        found = searcher.finals.asked
        assert (found.recipes, found.seeds, found.smaller) == (*size, size != (3, 5))
        if found.smaller:
            assert (told[-1].recipes, told[-1].seeds, told[-1].smaller) == (*size, True)
            said = capsys.readouterr().out
            assert f"the finals are now 2 recipes x {size[1]} fresh seeds (fewer than usual" in said
            short = shortage(searcher.plan, ledger, 1)
            assert bool(short) == (hours < 1)
            assert short in said
        for again in (plan, searcher.plan):
            fit = fitted(again, ledger, 1)
            assert fit.finals == found
            assert fitted(fit, ledger, 1) is fit
        assert fitted(make(tmp_path, *arguments, "--finals", "3x5")[0], ledger, 1).request.finals == (3, 5)
        ran = self.run(searcher_of(fitted(plan, ledger, 1), ledger), ledger)
        assert sum(is_fresh(trial.seed) for trial in ran) == found.trials or hours < 1
        assert sum(trial.name.startswith("#") and not is_fresh(trial.seed) for trial in ran) >= 5 or hours < 1

    def test_a_limit_that_hardly_explores_names_one_that_would(self, tmp_path: Path) -> None:
        arguments = ("--space", "scl_tau", "--search", "optuna", "--finals", "2x3", "--limit")
        plan, ledger, searcher = make(tmp_path, *arguments, "worker_hours=0.5")
        assert shortage(plan, ledger, 1) == ""  # nothing is known yet
        self.run(searcher, ledger)
        found = re.search(r"about --limit worker_hours=([\d.]+) would do", shortage(plan, ledger, 1))
        assert found is not None
        for part, enough in ((0.9, False), (1.1, True)):
            plan, *_ = make(tmp_path, *arguments, f"worker_hours={float(found[1]) * part}")
            assert (shortage(plan, ledger, 1) == "") is enough

    def test_a_recipe_too_long_for_the_limit_does_not_cost_the_finals(self, tmp_path: Path) -> None:
        """One of twenty epochs would take the whole hour; those of one epoch are explored, and judged in the end."""
        space = tmp_path / "epochs.py"
        space.write_text(
            "import dataclasses\nfrom search_spaces import load_space\nfrom search_spaces.space import Domain\n"
            "SPACE = load_space('scl_tau')\nSPACE = dataclasses.replace(SPACE, laptop={**SPACE.laptop,"
            " 'optimisation.epochs': 1, 'optimisation.max_steps': None},"
            " domains=(*SPACE.domains, Domain('optimisation.epochs', choices=(1, 20))))\n"
        )
        arguments = ("--space", str(space), "--sampler", "tpe", *self.LIMIT[2:], "worker_hours=1")
        _, ledger, searcher = make(tmp_path / "results", *arguments)
        ran: list[Trial] = []
        while isinstance(task := searcher.suggest(f"t{len(ran)}"), dict):
            (trial,) = task["trials"]
            seconds = 150.0 * int(str(trial.recipe.flat().get("optimisation.epochs", 0)))
            cost = {"seconds": 30.0 + seconds, "train_seconds": seconds}
            finish(searcher, ledger, task, score(trial), cost=cost)
            ran.append(trial)
        assert {trial.recipe.flat().get("optimisation.epochs") for trial in ran} <= {0, 1}
        assert sum(trial.name.startswith("#") and not is_fresh(trial.seed) for trial in ran) >= 3
        assert sum(is_fresh(trial.seed) for trial in ran) == 2 + 3 + 2 + 1
        assert {trial.recipe.flat()["optimisation.epochs"] for trial in searcher.left_out} >= {20}

    def test_a_finalist_too_long_for_what_is_left_leaves_the_others_their_seeds(self, tmp_path: Path) -> None:
        """The best recipe took nine times as long as others: its fresh seeds have no room, those of the second have."""
        arguments = [*self.LIMIT, "worker_hours=1.2"]
        arguments[arguments.index("1x2")] = "2x2"
        _, ledger, searcher = make(tmp_path, *arguments)
        ran: list[Trial] = []
        while isinstance(task := searcher.suggest(f"t{len(ran)}"), dict):
            (trial,) = task["trials"]
            assert searcher.explored or trial.row
            best = bool(searcher.explored) and trial.recipe.hash == searcher.explored[0]
            finish(searcher, ledger, task, 90.0 if best else score(trial), cost={"seconds": 1500.0 if best else 150.0})
            ran.append(trial)
        assert searcher.finals is not None
        first, second = searcher.finals.finalists or ()
        assert first.recipe.hash == searcher.explored[0]
        fresh = [trial.recipe.hash for trial in ran if is_fresh(trial.seed)]
        assert (fresh.count(first.recipe.hash), fresh.count(second.recipe.hash)) == (0, 2)
        assert searcher.agenda.limited
        for seed in second.seeds:  # as if the study had been killed before they ran
            (ledger.folder / f"{trial_key(second.recipe.hash, seed)}.json").unlink()
        _, ledger, searcher = make(tmp_path, *arguments)
        assert not searcher.agenda.limited
        again = self.run(searcher, ledger)
        assert [(trial.recipe.hash, trial.seed) for trial in again] == [(second.recipe.hash, s) for s in second.seeds]

    def test_finals_that_have_begun_keep_their_size(self, tmp_path: Path) -> None:
        """Whatever the limit is now; until they begin, the cheapest seed of the row that trains tells their size."""
        arguments = ("--space", "scl_tau", "--search", "optuna", "--seeds", "2", "--limit")
        plan, ledger, _ = make(tmp_path, *arguments, "worker_hours=2.1")
        by_default: dict[str, Any] = {"finals": (3, 5), "fit_finals": True}
        row = next(trial.recipe for trial in plan.fixed_trials() if trial.recipe.trains)

        def size(seed: int, seconds: float, hours: float = 2.1) -> Any:
            evaluations = [Evaluation("full", {"STSBenchmark": {"dev_spearman_cosine": 50.0}})]
            cost = {"seconds": seconds}
            ledger.write(Record(dict(row.flat()), row.hash, seed, evaluations=evaluations, cost=cost))
            now, *_ = make(tmp_path, *arguments, f"worker_hours={hours}")
            found = fitted(now.asking(dataclasses.replace(now.request, **by_default)), ledger, 1)
            assert found.finals is not None
            prepare_results(found, "2 cores")
            return found.finals.recipes, found.finals.seeds, found.finals.smaller

        assert size(0, 220.0) == (2, 3, True)
        assert size(1, 180.0) == (2, 4, True)
        assert size(FIRST_FRESH, 60.0) == size(FIRST_FRESH + 1, 60.0, 1.7) == size(0, 60.0, 9.0) == (2, 4, True)
        explicit, *_ = make(tmp_path, *arguments, "worker_hours=9", "--finals", "3x5")
        assert fitted(explicit, ledger, 1).request.finals == (3, 5)

    def test_trials_that_are_stopped_do_not_make_the_finals_look_cheap(self, tmp_path: Path) -> None:
        """Each of the sixty takes a fifth of a whole trial; a third of them fit beside semifinal and finals."""
        arguments = [*self.LIMIT, "worker_hours=1", "--scheduler", "asha"]
        arguments[arguments.index("30")] = "60"
        plan, ledger, searcher = make(tmp_path, *arguments)
        ran: list[Trial] = []
        while isinstance(task := searcher.suggest(f"t{len(ran)}"), dict):
            (trial,) = task["trials"]
            stopped = plan.may_stop(trial)
            parts = {"status": "pruned", "cost": {"seconds": 36.0}} if stopped else {"cost": {"seconds": 180.0}}
            finish(searcher, ledger, task, None if stopped else score(trial), **parts)
            ran.append(trial)
        assert 10 < sum(plan.may_stop(trial) for trial in ran) <= 30
        assert sum(is_fresh(trial.seed) for trial in ran) == 2 + 3 + 2 + 1

    def test_a_larger_limit_explores_on_and_chooses_anew(self, tmp_path: Path) -> None:
        _, ledger, searcher = make(tmp_path, *self.LIMIT, "worker_hours=1")
        self.run(searcher, ledger)
        _, ledger, searcher = make(tmp_path, *self.LIMIT, "worker_hours=1.5")
        assert not searcher.agenda.limited
        more = self.run(searcher, ledger)
        assert 7 <= len(more) <= 10  # room was kept for one finalist more; it may be the same one
        assert not any(is_fresh(trial.seed) for trial in more[:7])

    def test_while_a_last_long_recipe_runs_what_the_finals_need_anyway_runs_beside_it(self, tmp_path: Path) -> None:
        """No place is idle, and neither the recipes nor the finals are others than one after another."""
        _, ledger, searcher = make(tmp_path / "one_by_one", *self.LIMIT, "worker_hours=1")
        alone = self.run(searcher, ledger)
        _, ledger, searcher = make(tmp_path / "beside", *self.LIMIT, "worker_hours=1")
        ran: list[Trial] = []

        def begin() -> Any:
            task = searcher.suggest(f"t{len(ran)}")
            if isinstance(task, dict):
                ran.extend(task["trials"])
            return task

        explored = [trial for trial in alone if not is_fresh(trial.seed) and trial.seed != PART]
        while len(ran) < len(explored) - 1:
            finish(searcher, ledger, begin(), score(ran[-1]), cost={"seconds": 180.0})
        long = begin()
        beside = []
        while isinstance(task := begin(), dict):
            beside += task["trials"]
            finish(searcher, ledger, task, score(ran[-1]), cost={"seconds": 180.0})
        assert searcher.finals is not None
        assert task is None  # nothing more until the long one tells who is in them
        assert [trial.key for trial in beside] == [
            trial.key for entrant in searcher.finals.asked.beside for trial in entrant.trials
        ]
        finish(searcher, ledger, long, score(long["trials"][0]), cost={"seconds": 180.0})
        ran += self.run(searcher, ledger)
        assert {trial.key for trial in ran} == {trial.key for trial in alone}
        assert searcher.agenda.limited

    def test_without_room_for_all_the_finals_come_as_far_as_they_can(self, tmp_path: Path) -> None:
        plan, ledger, searcher = make(tmp_path, *self.LIMIT, "worker_hours=0.5")
        ran = self.run(searcher, ledger)
        assert len(ran) == 10
        assert {trial.key for trial in plan.fixed_trials()} <= {trial.key for trial in ran}
        assert searcher.agenda.limited

    def test_it_waits_for_what_runs_before_it_gives_up_exploring(self, tmp_path: Path) -> None:
        plan, ledger, searcher = make(tmp_path, *self.LIMIT, "worker_hours=1")
        fixed = len(plan.fixed_trials())
        tasks: list[Any] = []
        for number in range(fixed + 2):
            tasks.append(searcher.suggest(f"t{number}"))
            if number < fixed:
                finish(searcher, ledger, tasks.pop(), 50.0, cost={"seconds": 180.0})
        while isinstance(task := searcher.suggest("more"), dict):
            tasks.append(task)
        assert task is None
        assert not searcher.cut_short
        for each in tasks:
            finish(searcher, ledger, each, 50.0, cost={"seconds": 60.0})  # they took less than was guessed
        following = searcher.suggest("next")
        assert isinstance(following, dict)
        assert following["trials"][0].name.startswith("#")


class TestSaid:
    def test_a_preview_says_what_the_finals_are_and_cost(self, tmp_path: Path) -> None:
        plan, ledger, searcher = make(tmp_path, *TAU)
        said = preview(plan, CLUSTER, ALLOTMENT)
        line = "then the finals, up to 16 trials: 2 recipes x 3 fresh seeds, beside the base settings (6), "
        assert line in said
        assert line in preview(plan, CLUSTER, ALLOTMENT, brief=True)
        many = preview(make(tmp_path, *TAU, "--trials", "10")[0], CLUSTER, ALLOTMENT)
        assert "then the finals, up to 20 trials: a semifinal of 4, 2 recipes x 3 fresh seeds, beside " in many
        more = preview(make(tmp_path, *TAU[:-1], "none")[0], CLUSTER, ALLOTMENT)
        assert "finals" not in more
        assert [text for text in said.splitlines() if "estimate" in text] != [
            text for text in more.splitlines() if "estimate" in text
        ]
        info = prepare_results(plan, "")
        run(searcher, ledger)
        assert searcher.finals is not None
        save_info(plan, info, searcher.explored, ledger, searcher.finals.told)
        done = preview(plan, CLUSTER, ALLOTMENT)
        assert "up to 16 trials, 16 of them done: " in done
        assert ("show a gain of" in said, "show a gain of" in done) == (True, False)

    @pytest.mark.parametrize("best", ["the baseline", "a recipe that no seed changes"])
    def test_a_preview_counts_each_trial_of_the_finals_once(self, best: str, tmp_path: Path) -> None:
        plan, _, _ = make(tmp_path, "--space", "scl_tau", "--search", "grid", "--finals", "2x3")
        domains = Domain("optimisation.epochs", choices=(0, 1)), Domain("pooling.mode", choices=("mean", "max"))
        space = dataclasses.replace(plan.space, domains=domains)
        plan = dataclasses.replace(plan, draft=dataclasses.replace(plan.draft, space=space))
        info, ledger = prepare_results(plan, ""), Ledger(tmp_path / LEDGER)
        assert f"up to {6 + BASE + BASELINE + CAME} trials: " in preview(plan, CLUSTER, ALLOTMENT)
        searcher = searcher_of(plan, ledger)
        ran = []
        while isinstance(task := searcher.suggest(f"t{len(ran)}"), dict):
            (trial,) = task["trials"]
            baseline = trial.name == "SBERT baseline"
            first = baseline if best == "the baseline" else not (baseline or trial.recipe.uses_seed)
            finish(searcher, ledger, task, 90.0 if first else 40.0 + len(ran) / 10)
            ran.append(trial)
        assert searcher.finals is not None
        save_info(plan, info, searcher.explored, ledger, searcher.finals.told)
        wanted = BASE + BASELINE + CAME + 3 + (0 if best == "the baseline" else 1)
        assert sum(is_fresh(trial.seed) for trial in ran) == wanted
        assert f"up to {wanted} trials, {wanted} of them done: " in preview(plan, CLUSTER, ALLOTMENT)

    def test_a_study_goes_on_with_its_finals(self, tmp_path: Path) -> None:
        plan, _, _ = make(tmp_path, *TAU)
        prepare_results(plan, "")
        plan = continued(make(tmp_path, "--space", "scl_tau")[0])
        assert plan.request.finals == (2, 3)
        assert (plan.seeds, plan.most_seeds) == (range(1), 1)
        label = next(iter(plan.rows))
        rows = continued(make(tmp_path, "--space", "scl_tau", "--only", label, "--seeds", "2")[0])
        assert rows.finals is None
        assert prepare_results(rows, "").finals == plan.finals.told() if plan.finals else False

    @pytest.mark.parametrize(
        ("first", "asked", "seeds"), [("3", "1", (3, 3)), ("1:4", "2", (2, 4)), ("2", "5", (5, 5))]
    )
    def test_a_study_that_goes_on_keeps_its_seeds(
        self, first: str, asked: str, seeds: tuple[int, int], tmp_path: Path
    ) -> None:
        """Fewer would leave recipes without those that chose the finalists."""
        plan, ledger, _ = make(tmp_path, *TAU, "--seeds", first)
        prepare_results(plan, "")
        plan = continued(make(tmp_path, "--space", "scl_tau", "--seeds", asked)[0])
        assert (len(plan.seeds), plan.most_seeds) == seeds
        assert (plan.request.search, plan.request.finals) == ("optuna", (2, 3))
        assert searcher_of(plan, ledger).finals is not None
