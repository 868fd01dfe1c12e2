"""What the searcher hands out and what Optuna is told, with a ledger on disk and no Ray cluster."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState
from ray.tune.search import Searcher

from reports.ledger import Ledger, StudyInfo, fresh_seeds, trial_key
from reports.ledger.folders import POPULATIONS
from reports.testing import made_record
from study.plan import Plan
from study.results_folder.check import continued
from study.results_folder.prepare import prepare_results, save_info
from study.search.journal import SAMPLER, explored_recipe
from study.search.populations import files_key
from study.search.samplers import DEFAULT_SAMPLER, SAMPLERS
from study.search.tune_searcher import TuneSearcher
from study.trial import Trial
from tests.conftest import slow_case
from tests.study.plans import plan_of, preview_of
from trainables.errors import UserError
from trainables.files import write_whole
from trainables.senteval import task_names
from trainables.training.rungs import STS, RungPlan
from trainables.trial import population_key

TAU = ("--space", "scl_tau", "--search", "optuna", "--trials")


def make(results: Path, *arguments: str) -> tuple[Plan, Ledger, TuneSearcher]:
    """Of a search without finals and soups, unless the arguments say otherwise."""
    for option in ("--finals", "--soup"):
        if "--search" in arguments and option not in arguments:
            arguments = (*arguments, option, "none")
    results.mkdir(exist_ok=True)
    plan = plan_of(*arguments, "--scale", "laptop", "--results", str(results))
    ledger = Ledger(results / "ledger")
    return plan, ledger, searcher_of(plan, ledger)


def searcher_of(plan: Plan, ledger: Ledger, on_news: Any = lambda *_: None) -> TuneSearcher:
    """As a study makes it: what is handed out has no resources here."""
    searcher = TuneSearcher(plan, ledger, on_news)

    def begin(members: list[Trial], together: bool) -> dict[str, Any]:
        done = [trial.key for trial in members if ledger.has(trial.recipe_hash, trial.seed)]
        return {"key": files_key(members), "trials": members, "done": done, "together": together}

    searcher.begin = begin
    return searcher


def dev(score: float, transfer: float | None = None) -> dict[str, Any]:
    """Scores whose selection is `score`, or with two goals."""
    scores: dict[str, Any] = {"STSBenchmark": {"dev_spearman_cosine": score}}
    return scores if transfer is None else {**scores, "MR": {"dev_accuracy": transfer}}


def finish(searcher: TuneSearcher, ledger: Ledger, config: Any, score: float | None, **more: Any) -> None:
    """Each trial of a task that is not done yet gets a record, or fails where there is nothing to record."""
    for trial in config["trials"]:
        if trial.key in config["done"]:
            continue
        record = None
        if score is not None or more:
            recipe = trial.recipe
            content = {"scores": dev(score)} | more if score is not None else more
            evaluation = searcher.plan.evaluation
            content = {"protocol": evaluation.protocol} | content
            if content.get("status") != "pruned":
                content["scores"] = {task: {} for task in task_names(evaluation.tasks)} | content.get("scores", {})
            record = made_record(recipe=recipe.flat(), recipe_hash=recipe.hash, seed=trial.seed, **content)
            ledger.write(record)
        searcher.settle(trial.key, record)


def suggestions(searcher: TuneSearcher) -> Iterator[Any]:
    """What it hands out, one after another."""
    while (config := searcher.suggest("t")) != Searcher.FINISHED:
        yield config


def run_all(
    searcher: TuneSearcher, ledger: Ledger, score: Any = lambda task: 50.0, limit: int | None = None, **more: Any
) -> list[Any]:
    ran = []
    for config in itertools.islice(suggestions(searcher), limit):
        ran.append(config)
        finish(searcher, ledger, config, score(config["trials"][0]), **more)
    return ran


def asked_trials(searcher: TuneSearcher) -> list[FrozenTrial]:
    """What Optuna was asked for, rows left out."""
    return [trial for trial in searcher.explorer.ask_tell.study.get_trials() if "name" in trial.user_attrs]


def number_of(task: Any) -> str:
    """What the name of an explored recipe begins with."""
    return str(task.name).partition(" ")[0]


def test_rows_come_first_then_optuna_all_seeds_of_a_recipe_together(tmp_path: Path) -> None:
    plan, ledger, searcher = make(tmp_path, *TAU, "3", "--seeds", "2")
    assert searcher.agenda.remaining == (len(plan.rows) + 3 - sum(r is None for r in plan.rows.values())) * 2
    ran = run_all(searcher, ledger)
    rows = len(plan.fixed_trials())
    assert [config["trials"][0].name.startswith("#") for config in ran] == [False] * rows + [True] * 6
    for first, second in zip(ran[::2], ran[1::2], strict=True):
        assert first["trials"][0].recipe == second["trials"][0].recipe
        assert (first["trials"][0].seed, second["trials"][0].seed) == (0, 1)
    assert searcher.agenda.remaining == 0


def test_optuna_is_told_the_mean_over_seeds_and_learns_from_the_rows(tmp_path: Path) -> None:
    _, ledger, searcher = make(tmp_path, *TAU, "2", "--seeds", "2")
    run_all(searcher, ledger, score=lambda task: 40.0 + 10 * task.seed)
    trials = searcher.explorer.ask_tell.study.get_trials()
    explored = [trial for trial in trials if "name" in trial.user_attrs]
    assert [trial.value for trial in explored] == [45.0, 45.0]
    temperatures = {trial.params["objective.temperature"] for trial in trials if "row" in trial.user_attrs}
    assert {0.1, 0.5, 1.0} <= temperatures  # the rows within the domain


def test_each_recipe_that_optuna_asks_for_is_told_at_once(tmp_path: Path) -> None:
    """So that a report has it even if the study never comes to its end."""
    plan, ledger, _ = make(tmp_path, *TAU, "3")
    announced: list[list[str]] = []
    searcher = searcher_of(plan, ledger, lambda explored, finals: announced.append(list(explored)))
    run_all(searcher, ledger)
    assert [len(explored) for explored in announced] == [1, 2, 3]
    assert announced[-1] == searcher.explored
    save_info(plan, prepare_results(plan, "hardware"), searcher.explored)
    rows = len(plan.fixed_trials())
    assert f"\n{rows + 3} trials" in preview_of(plan)
    assert f"{rows + 3} of them done" in preview_of(plan)


def test_nothing_done_is_run_again_and_more_trials_extend(tmp_path: Path) -> None:
    _, ledger, searcher = make(tmp_path, *TAU, "2")
    first = run_all(searcher, ledger)
    _, ledger, searcher = make(tmp_path, *TAU, "2")
    assert run_all(searcher, ledger) == []
    _, ledger, searcher = make(tmp_path, *TAU, "4")
    more = run_all(searcher, ledger)
    assert len(more) == 2
    assert not {c["key"] for c in first} & {c["key"] for c in more}
    _, ledger, searcher = make(tmp_path, *TAU, "4", "--seeds", "2")
    assert {config["trials"][0].seed for config in run_all(searcher, ledger)} == {1}


def again(results: Path, *arguments: str) -> tuple[Plan, Ledger, TuneSearcher]:
    """As `study/run.py` begins in a folder that holds a study."""
    plan = continued(make(results, *arguments)[0])
    ledger = Ledger(results / "ledger")
    info = prepare_results(plan, "")
    searcher = searcher_of(plan, ledger)
    save_info(plan, info, searcher.explored)
    return plan, ledger, searcher


def test_a_study_goes_on_with_its_search_where_the_command_does_not_say_it_again(tmp_path: Path) -> None:
    """Its explored recipes are in the plan, get further seeds, and are run to their end; what was asked for stays in
    the report. `--only` is of rows alone."""
    plan, ledger, searcher = again(tmp_path, *TAU, "5", "--scheduler", "asha", "--rungs", "4")
    rows = len(searcher.agenda.waiting())
    run_all(searcher, ledger, limit=rows + 2)  # killed after two of five recipes
    save_info(plan, StudyInfo.load(tmp_path), searcher.explored)

    plan, ledger, searcher = again(tmp_path, "--space", "scl_tau")
    trials = f"{rows + 5} trials ({rows} rows, 5 recipes from Optuna, 1 seed), {rows + 2} of them done"
    assert trials in preview_of(plan)
    assert [plan.rungs, plan.request.scheduler] == [RungPlan("share", (0.25, 0.5, 0.75), (STS,)), "asha"]
    assert len(run_all(searcher, ledger)) == 3
    save_info(plan, StudyInfo.load(tmp_path), searcher.explored)

    _, ledger, searcher = again(tmp_path, "--space", "scl_tau", "--seeds", "2")
    more = run_all(searcher, ledger)
    assert {config["trials"][0].seed for config in more} == {1}
    assert len(more) == rows + 5
    label = next(iter(plan.rows))
    _, _, searcher = again(tmp_path, "--space", "scl_tau", "--seeds", "3", "--only", label)
    assert [trial.name for trial in searcher.agenda.waiting()] == [label]
    info = StudyInfo.load(tmp_path)
    assert (info.search, info.trials, len(info.explored)) == ("optuna", 5, 5)


def test_conditional_domains_are_asked_only_where_they_apply(tmp_path: Path) -> None:
    _, ledger, searcher = make(tmp_path, "--space", "scl_ablation", "--search", "optuna", "--trials", "25")
    recipes = [c["trials"][0].recipe for c in run_all(searcher, ledger) if c["trials"][0].name.startswith("#")]
    assert len({recipe.hash for recipe in recipes}) == len(recipes)
    assert {recipe.head.kind for recipe in recipes} >= {"none", "mlp"}
    assert all(recipe.flat().get("head.dim") is None for recipe in recipes if recipe.head.kind == "none")


def rungs(*scores: dict[str, float]) -> dict[str, Any]:
    """A training as a record has it."""
    cost = {"seconds": 1.0, "tokens": 10}
    return {
        "rungs": [{"rung": rung, "step": 10 * rung, "scores": score} | cost for rung, score in enumerate(scores, 1)]
    }


def test_optuna_is_told_how_far_a_stopped_trial_came(tmp_path: Path) -> None:
    _, ledger, searcher = make(tmp_path, *TAU, "1", "--scheduler", "asha")
    run_all(searcher, ledger, limit=len(searcher.agenda.waiting()))
    config: Any = searcher.suggest("e")
    finish(searcher, ledger, config, None, training=rungs({"sts": 40.0}, {"sts": 50.0}), status="pruned")
    (trial,) = searcher.explorer.ask_tell.study.get_trials(states=[TrialState.PRUNED])
    assert trial.intermediate_values == {1: 40.0, 2: 50.0}


def test_what_a_diverged_trial_cost_is_no_result(tmp_path: Path) -> None:
    """A search for costs alone must not take it for a cheap one. Nor does it wait for the recipe's other seeds."""
    plan, ledger, searcher = make(tmp_path, *TAU, "2", "--seeds", "2", "--goals", "seconds")
    cheap: dict[str, Any] = {"status": "pruned", "cost": {"seconds": 1.0}}
    parts: dict[str, Any] = {"cost": {"seconds": 9.0}}
    rows = len(plan.fixed_trials())
    for number, config in enumerate(suggestions(searcher)):
        (task,) = config["trials"]
        diverged = number == 0 or (number_of(task), task.seed) == ("#1", 0)
        finish(searcher, ledger, config, None, **(cheap if diverged else parts))
        assert not diverged or task.recipe_hash not in searcher.explorer.ask_tell.groups
    trials = searcher.explorer.ask_tell.study.get_trials()
    assert [t.state for t in trials if "name" in t.user_attrs] == [TrialState.PRUNED, TrialState.COMPLETE]
    assert len(trials) == 2 + rows // 2 - 1  # nor is the row told that diverged under one seed
    assert {tuple(t.values) for t in trials if t.state == TrialState.COMPLETE} == {(9.0,)}


def test_a_recipe_is_stopped_under_its_first_seed_or_runs_under_all(tmp_path: Path) -> None:
    """With a scheduler and three seeds: the first decides, the others alone are what Optuna is told; also where the
    study is killed between them, and continued."""
    arguments = (*TAU, "3", "--scheduler", "asha", "--seeds", "3")
    plan, ledger, searcher = make(tmp_path, *arguments)
    run_all(searcher, ledger, limit=len(searcher.agenda.waiting()))  # rows run under all seeds
    assert searcher.agenda.remaining == 9

    def next_one() -> Any:
        config: Any = searcher.suggest("e")
        (task,) = config["trials"]
        return config, number_of(task), task.seed

    config, *first = next_one()
    assert first == ["#1", 0]
    assert searcher.agenda.remaining == 9  # its further seeds may come
    finish(searcher, ledger, config, None, training=rungs({"sts": 30.0}), status="pruned")
    assert searcher.agenda.remaining == 6
    config, *second = next_one()
    _, *third = next_one()
    assert (second, third) == (["#2", 0], ["#3", 0])
    finish(searcher, ledger, config, 70.0, training=rungs({"sts": 50.0}, {"sts": 60.0}))
    assert searcher.agenda.remaining == 5
    config, *further = next_one()
    assert further == ["#2", 1]
    assert not plan.may_stop(Trial(config["trials"][0].recipe, 1, "#2"))
    finish(searcher, ledger, config, 62.0)
    _, _, searcher = make(tmp_path, *arguments)  # killed, while the second's last and the third's first seed run
    assert searcher.agenda.remaining == 4
    handed = [next_one(), next_one()]
    assert [each[1:] for each in handed] == [("#2", 2), ("#3", 0)]
    finish(searcher, ledger, handed[0][0], 60.0)
    finish(searcher, ledger, handed[1][0], None)  # the third fails, and no more seeds of it run
    assert searcher.suggest("e") == Searcher.FINISHED
    assert searcher.agenda.remaining == 0
    named = asked_trials(searcher)
    assert [trial.state for trial in named] == [TrialState.PRUNED, TrialState.COMPLETE, TrialState.FAIL]
    assert named[1].value == 61.0
    _, _, again = make(tmp_path, *arguments)
    config = again.suggest("e")
    assert [(number_of(task), task.seed) for task in config["trials"]] == [("#3", 0)]  # what failed is tried again
    finish(again, ledger, config, 70.0, training=rungs({"sts": 50.0}))
    assert [task.seed for config in run_all(again, ledger) for task in config["trials"]] == [1, 2]


def test_a_study_goes_on_with_the_sampler_that_it_was_begun_with(tmp_path: Path) -> None:
    for more, then in (((), DEFAULT_SAMPLER), (("--sampler", "random"), "random"), ((), "random")):
        _, _, searcher = make(tmp_path, *TAU, "3", *more)
        study = searcher.explorer.ask_tell.study
        assert searcher.explorer.sampler.name == study.user_attrs[SAMPLER] == then
        assert type(study.sampler) is type(SAMPLERS[then].build(0))


def test_a_study_whose_scheduler_there_is_not_goes_on_with_another_one(tmp_path: Path) -> None:
    search = (*TAU, "3", "--scheduler", "asha")
    again(tmp_path, *search)
    info = StudyInfo.load(tmp_path)
    dataclasses.replace(info, requests=[{**info.requests[-1], "scheduler": "median"}]).save(tmp_path)
    with pytest.raises(UserError, match=r"scheduler 'median'.*none.*asha"):
        again(tmp_path, "--space", "scl_tau")
    assert again(tmp_path, *search)[0].request.scheduler == "asha"


@pytest.mark.parametrize(
    ("more", "trials"), [((), 20), (("--limit", "minutes=60"), 20), (("--only", "*-tau0.5-SCL"), None)]
)  # fmt: skip
def test_a_search_of_as_many_recipes_as_usual_goes_on_with_as_many(
    more: Sequence[str], trials: int | None, tmp_path: Path
) -> None:
    again(tmp_path, "--space", "scl_tau", "--search", "optuna")
    request = again(tmp_path, "--space", "scl_tau", *more)[0].request
    assert request.trials == trials
    request.check()


def test_a_study_whose_sampler_there_is_not_goes_on_with_another_one(tmp_path: Path) -> None:
    arguments = (*TAU, "3")
    _, ledger, searcher = make(tmp_path, *arguments, "--trials", "2")
    run_all(searcher, ledger)
    searcher.explorer.ask_tell.study.set_user_attr(SAMPLER, "cmaes")
    with pytest.raises(UserError, match=r"with the sampler 'cmaes', which there is not; .*: --sampler tpe or random"):
        make(tmp_path, *arguments)
    _, ledger, searcher = make(tmp_path, *arguments, "--sampler", "tpe")
    run_all(searcher, ledger)
    assert len(searcher.explored) == 3


@pytest.mark.slow
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_sampler_continues_and_extends(tmp_path: Path, sampler: str) -> None:
    """Nothing is run twice or lost where a study is killed, continued and extended, with trials that are stopped."""
    ran: list[str] = []

    def run(trials: int, killed_at: int = 1000) -> list[FrozenTrial]:
        arguments = ("--space", "scl_ablation", "--search", "optuna", "--sampler", sampler, "--seeds", "2")
        _, ledger, searcher = make(tmp_path, *arguments, "--trials", str(trials))
        for number, config in enumerate(suggestions(searcher)):
            if len(searcher.explored) >= killed_at:
                break
            ran.extend({task.key for task in config["trials"]} - set(config["done"]))
            explored = [task for task in config["trials"] if task.name.startswith("#")]
            stopped = explored[:1] if number % 3 == 2 else []
            finish(searcher, ledger, {**config, "trials": stopped}, None, status="pruned")
            finish(
                searcher, ledger, {**config, "trials": [t for t in config["trials"] if t not in stopped]}, 50.0 + number
            )
        return searcher.explorer.ask_tell.study.get_trials()

    first = run(14, killed_at=8)
    assert TrialState.RUNNING in {trial.state for trial in first}
    run(14)
    last = run(16)
    assert len(ran) == len(set(ran))
    assert [trial.params for trial in last[: len(first)]] == [trial.params for trial in first]
    explored = [trial for trial in last if "name" in trial.user_attrs]
    assert len(explored) == 16
    assert {trial.state for trial in explored} == {TrialState.COMPLETE, TrialState.PRUNED}
    plan, ledger, _ = make(tmp_path, "--space", "scl_ablation", "--search", "optuna", "--sampler", sampler)
    for trial in explored:
        recipe = explored_recipe(trial, plan.base, plan.space.domains)
        assert ledger.has(recipe.hash, 0)
        assert ledger.has(recipe.hash, 1)


@pytest.mark.parametrize("sampler", [slow_case(name, when=name != "tpe") for name in SAMPLERS])
def test_a_search_that_is_killed_again_and_again_tries_what_it_would_have_tried(tmp_path: Path, sampler: str) -> None:
    def tried(folder: Path, killed: bool) -> list[dict[str, Any]]:
        search = ("--space", "scl_ablation", "--search", "optuna", "--sampler", sampler, "--seeds", "1")
        searcher = None
        for number in range(1000):
            if searcher is None or (killed and number % 5 == 0):
                _, ledger, searcher = make(folder, *search, "--trials", "16")
            config = searcher.suggest(f"t{number}")
            if not isinstance(config, dict):
                break
            finish(searcher, ledger, config, 50.0 + 3 * math.sin(number))
        return [trial.params for trial in searcher.explorer.ask_tell.study.get_trials()]

    once = tried(tmp_path / "once", killed=False)
    assert len(once) >= 16
    assert tried(tmp_path / "killed", killed=True) == once


def test_the_search_finds_the_better_end(tmp_path: Path) -> None:
    _, ledger, searcher = make(tmp_path, "--space", "scl_lambda", "--search", "optuna", "--trials", "30")
    run_all(searcher, ledger, score=lambda task: 100 - 50 * abs(task.recipe.flat().get("objective.weight", 0.0) - 0.42))
    assert searcher.explorer.ask_tell.study.best_params["objective.weight"] == pytest.approx(0.42, abs=0.05)
    assert searcher.explorer.ask_tell.study.direction == optuna.study.StudyDirection.MAXIMIZE


CLSR = ("--space", "clsr_main", "--only", "CLSR-BERT-base")


def test_trials_over_one_frozen_encoder_run_together(tmp_path: Path) -> None:
    arguments = (*CLSR, "--seeds", "3", "--set", "optimisation.batch_size=64")
    plan, ledger, searcher = make(tmp_path, *arguments)
    config = searcher.suggest("t0")
    assert [task.seed for task in config["trials"]] == [0, 1, 2]
    assert config["key"].startswith("population-")
    assert searcher.agenda.remaining == 3
    assert config["together"]
    finish(searcher, ledger, {**config, "trials": config["trials"][:1]}, 50.0)
    finish(searcher, ledger, {**config, "trials": config["trials"][1:]}, None)  # the others failed
    assert searcher.agenda.remaining == 0
    _, _, searcher = make(tmp_path, *arguments)
    again = searcher.suggest("t0")
    assert [task.seed for task in again["trials"]] == [1, 2]
    _, _, searcher = make(tmp_path / "one", *arguments, "--seeds", "1")
    alone = searcher.suggest("t0")
    assert len(alone["trials"]) == 1
    assert alone["key"] == plan.fixed_trials()[0].key


def test_an_interrupted_population_goes_on_whole(tmp_path: Path) -> None:
    """Its checkpoint holds all members, also those that were evaluated before the study was killed."""
    arguments = (*CLSR, "--seeds", "3", "--set", "optimisation.batch_size=64")
    plan, ledger, searcher = make(tmp_path, *arguments)
    begun = searcher.suggest("t0")
    finish(searcher, ledger, {**begun, "trials": begun["trials"][1:]}, 50.0)
    members = [f"{plan.fixed_trials()[0].recipe.hash}-{seed}" for seed in (0, 1, 2)]
    write_whole(tmp_path / POPULATIONS / f"{begun['key']}.json", json.dumps(members))

    _, _, searcher = make(tmp_path, *arguments[:-3], "4", *arguments[-2:])  # --seeds 4: the new one is alone
    assert searcher.agenda.remaining == 2
    again, further = searcher.suggest("t0"), searcher.suggest("t1")
    assert again["key"] == begun["key"]
    assert [task.seed for task in again["trials"]] == [0, 1, 2]
    assert [task.seed for task in further["trials"]] == [3]
    assert searcher.suggest("t2") == Searcher.FINISHED
    assert again["done"] == members[1:]
    for config in (again, further):
        finish(searcher, ledger, config, 50.0)

    for task in again["trials"][:2]:
        (ledger.folder / f"{task.key}.json").unlink()
    _, _, searcher = make(tmp_path, *arguments, "--seeds", "1")  # somebody who trains with them is not asked for
    alone = searcher.suggest("t0")
    assert [task.seed for task in alone["trials"]] == [0]


def test_an_interrupted_population_of_a_race_goes_on_whole(tmp_path: Path) -> None:
    """Some of its seeds had not been chosen yet when the study was begun, and are not at once when it goes on."""
    arguments = (*CLSR, "--set", "optimisation.batch_size=64", "--seeds")
    plan, ledger, searcher = make(tmp_path, *arguments, "2:6")
    first = searcher.suggest("t0")
    finish(searcher, ledger, first, 50.0)
    trial = plan.fixed_trials()[0]
    members = [f"{trial.recipe.hash}-{seed}" for seed in (2, 3, 4)]
    write_whole(tmp_path / POPULATIONS / "population-of-three.json", json.dumps(members))

    _, _, searcher = make(tmp_path, *arguments, "2:6")
    assert searcher.agenda.remaining == 3
    again = searcher.suggest("t0")
    assert [task.key for task in again["trials"]] == members
    assert searcher.agenda.remaining == 3

    _, _, searcher = make(tmp_path, *arguments, "2:4")  # the fifth is asked for no more
    assert not searcher.populations.interrupted


@pytest.mark.parametrize(("batch_size", "members"), [(64, 128), (512, 64), (100_000, 1)])
def test_a_population_is_bounded(tmp_path: Path, batch_size: int, members: int) -> None:
    options = (*CLSR, "--seeds", "130", "--set", f"optimisation.batch_size={batch_size}")
    config = make(tmp_path, *options)[2].suggest("t0")
    assert len(config["trials"]) == members


def test_optuna_asks_for_a_population(tmp_path: Path) -> None:
    plan, ledger, searcher = make(tmp_path, *CLSR, "--search", "optuna", "--trials", "30")
    sizes = []
    for config in suggestions(searcher):
        assert len({population_key(task.recipe) for task in config["trials"]}) == 1
        finish(searcher, ledger, config, 50.0)
        sizes.append(len(config["trials"]))
    assert sum(sizes) == 31
    assert max(sizes) > 1
    assert len(searcher.explorer.ask_tell.study.get_trials(states=[TrialState.COMPLETE])) == 31
    assert searcher.agenda.remaining == 0
    assert plan.explored == 30


def test_a_row_that_optuna_asks_for_runs_once(tmp_path: Path) -> None:
    """The rows are points of this space of five, so they are sure to be asked for while they wait or run."""
    _, ledger, searcher = make(tmp_path, "--space", "clsr_pooling", "--search", "optuna", "--trials", "12")
    handed = []
    while isinstance(config := searcher.suggest(f"t{len(handed)}"), dict):
        handed.append(config)
    trials = [(task.recipe.hash, task.seed) for config in handed for task in config["trials"]]
    assert len(trials) == len(set(trials)) <= 6
    for config in handed:
        finish(searcher, ledger, config, 50.0)
    assert searcher.agenda.remaining == 0
    assert not searcher.explorer.ask_tell.study.get_trials(states=[TrialState.RUNNING])
    complete = searcher.explorer.ask_tell.study.get_trials(states=[TrialState.COMPLETE])
    assert len(complete) == len(trials) - 1  # all but the base itself


def test_what_failed_is_not_run_again_when_it_is_asked_for_again(tmp_path: Path) -> None:
    """The coordinator knows that it is settled, and nobody would ever say what became of it."""
    arguments = (*TAU, "3")
    plan, ledger, searcher = make(tmp_path, *arguments)
    rows = len(plan.fixed_trials())
    handed = run_all(searcher, ledger, score=lambda task: None, limit=rows)
    for _ in range(2):
        searcher.explorer.ask_tell.study.enqueue_trial({"objective.temperature": 0.1})  # a row
    handed += run_all(searcher, ledger, score=lambda task: None)
    keys = [task.key for config in handed for task in config["trials"]]
    assert len(keys) == len(set(keys)) == rows + 1
    assert len(searcher.explorer.proposed) == 3
    assert searcher.agenda.remaining == 0
    assert not searcher.explorer.ask_tell.study.get_trials(states=[TrialState.RUNNING])
    _, _, again = make(tmp_path, *arguments)
    assert again.suggest("t0") != Searcher.FINISHED  # a new start tries them again


def test_two_goals_are_told_as_two(tmp_path: Path) -> None:
    _, ledger, searcher = make(tmp_path, "--space", "contrastive_all", "--search", "optuna", "--trials", "12")
    count = 0
    for number, config in enumerate(suggestions(searcher)):
        goals = dev(50.0 + number, None if number == 9 else 70.0 - number)
        status: dict[str, Any] = {"status": "pruned"} if number == 10 else {"scores": goals}
        finish(searcher, ledger, config, 1.0, **status)
        count += 1
    assert count == 19
    done = searcher.explorer.ask_tell.study.get_trials(states=[TrialState.COMPLETE])
    assert all(len(trial.values) == 2 for trial in done)
    states = [trial.state for trial in searcher.explorer.ask_tell.study.get_trials()]
    assert states.count(TrialState.FAIL) == states.count(TrialState.PRUNED) == 1
    assert len(searcher.explorer.ask_tell.study.best_trials) == len(done)  # each is better than the others in one goal


def test_a_race_gives_more_seeds_where_they_matter_and_goes_on_after_a_kill(tmp_path: Path) -> None:
    """`--seeds 1:4` after one seed each: recipes far behind get no more, and nothing runs twice."""
    arguments = ("--space", "scl_lambda", "--seeds", "1:4")

    plan, ledger, searcher = make(tmp_path / "results", *arguments)
    levels = {trial.recipe.hash: 10.0 * index for index, trial in enumerate(plan.fixed_trials())}
    *_, second, best = levels
    levels[best] = levels[second]
    swing = {best: 4, second: -4}  # the two best take turns, so that no three seeds tell them apart

    def score(task: Any) -> float:
        key, seed = task.recipe_hash, task.seed
        return levels[key] + swing.get(key, 0) * (-1) ** seed + int(trial_key(key, seed)[:4], 16) % 3

    assert searcher.agenda.remaining == 4 * len({trial.recipe.hash for trial in plan.fixed_trials()})
    first = run_all(searcher, ledger, score, limit=6)
    _, ledger, searcher = make(tmp_path / "results", *arguments)  # killed, and run again
    later = run_all(searcher, ledger, score)
    ran = [task.key for config in [*first, *later] for task in config["trials"] if task.key not in config["done"]]
    assert len(ran) == len(set(ran))
    seeds = [len([key for key in ran if key.startswith(trial.recipe.hash)]) for trial in plan.fixed_trials()]
    assert min(seeds) >= 1
    assert max(seeds) == 4
    assert min(seeds) < 4
    assert searcher.agenda.remaining == 0
    _, _, again = make(tmp_path / "results", *arguments)
    assert again.agenda.remaining == 0
    _, _, longer = make(tmp_path / "results", "--space", "scl_lambda", "--seeds", "5")
    assert longer.agenda.remaining > 0


def test_optuna_is_told_once_after_the_least_seeds_and_explored_recipes_race(tmp_path: Path) -> None:
    arguments = ("--space", "scl_lambda", "--only", "SBERT baseline", "--search", "optuna", "--trials", "4")
    _, ledger, searcher = make(tmp_path / "results", *arguments, "--seeds", "2:4")
    ran = run_all(searcher, ledger, lambda task: 50.0 + task.seed)
    raced = {task.recipe_hash for config in ran for task in config["trials"] if task.seed >= 2}
    assert raced & set(searcher.explored)
    assert searcher.agenda.remaining == 0


def test_a_further_seed_of_a_race_and_the_finals_are_never_stopped(tmp_path: Path) -> None:
    """A race runs it only where it can change an answer, and a stopped one would throw its recipe out."""
    search = ("--search", "optuna", "--trials", "2", "--scheduler", "asha", "--seeds", "1:3")
    plan, _, _ = make(tmp_path / "results", "--space", "scl_lambda", *search)
    assert [seed for seed in (0, 1, 2, *fresh_seeds(2)) if plan.may_stop(Trial(plan.base, seed, "#1"))] == [0]
    assert not plan.may_stop(Trial(plan.base, 0, "a row", row=True))
