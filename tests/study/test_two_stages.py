"""Two stages of evaluation: explored recipes on what their goals need, rows on everything. Nothing here starts Ray."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from reports.check import check
from reports.facts.guards import find_flags
from reports.facts.results import Results
from reports.ledger import LEDGER, Evaluation, Ledger, Record, StudyInfo
from reports.report import write_report
from reports.statistics import Measured
from search_spaces import load_space
from study.engine.launch import to_run
from study.engine.models_kept import ModelsKept
from study.plan import Plan
from study.search.tune_searcher import TuneSearcher
from study.trial import Trial
from tests.study import plans
from tests.study.plans import ALLOTMENT
from tests.synthetic_results import make_results
from trainables.senteval.tasks import GROUPS, task_names

SEARCH = ("--space", "scl_ablation", "--scale", "laptop", "--search", "optuna")


def plan_of(*arguments: str, results: Path | None = None) -> Plan:
    option = ("--results", str(results)) if results else ()
    return plans.plan_of(*SEARCH, *arguments, *option)


@pytest.mark.parametrize(
    ("arguments", "tasks"),
    [
        ((), ("STSBenchmark", *GROUPS["transfer"])),
        (("--goals", "sts"), ("STSBenchmark",)),
        (("--goals", "transfer", "--limit", "worker_hours=1"), GROUPS["transfer"]),
        (("--goals", "sts,transfer", "--set", "evaluation.tasks=sts,MR,STSBenchmark"), ("STSBenchmark", "MR")),
    ],
)
def test_an_explored_recipe_is_scored_on_what_its_goals_need(
    arguments: tuple[str, ...], tasks: tuple[str, ...], tmp_path: Path
) -> None:
    plan = plan_of(*arguments, results=tmp_path)
    explored = plan.evaluation_of("0" * 12, 0)
    assert (explored.parts, {*explored.tasks}) == ("development", {*tasks})
    assert explored.protocol == plan.evaluation.protocol
    (row, *_) = plan.fixed_trials()
    assert plan.evaluation_of(row.recipe_hash, row.seed) is plan.evaluation
    assert plan.evaluation.parts == "all"
    assert plan.scoring_of(row.recipe_hash, row.seed) is plan.scoring
    assert plan.scoring_of("0" * 12, 0) == dataclasses.replace(
        plan.scoring, tasks=frozenset(tasks), parts="development"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("--goals", "seconds"),
        ("--goals", "sts,seconds"),
        ("--limit", "seconds=600"),
        ("--set", "evaluation.explored=all"),
    ],
)
def test_it_is_scored_as_a_row_where_scoring_is_part_of_a_cost_or_it_is_asked_for(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """Else what trials cost would be compared with what rows cost that are scored on more."""
    plan = plan_of(*arguments, results=tmp_path)
    assert plan.evaluation_of("0" * 12, 0) is plan.evaluation


def record(trial: Trial, *evaluations: Evaluation) -> Record:
    return Record(dict(trial.recipe.flat()), trial.recipe_hash, trial.seed, evaluations=list(evaluations))


def test_what_makes_a_trial_done_follows_from_what_it_is(tmp_path: Path) -> None:
    """An explored recipe's development numbers do not make it done as a row; whole ones make it done either way."""
    plan = plan_of("--goals", "sts", results=tmp_path)
    ledger = Ledger(tmp_path / LEDGER, plan.scoring_of)
    row = plan.fixed_trials()[0]
    other = Trial(plan.base.override({"optimisation.learning_rate": 0.123}), 0, "optuna 1")
    protocol = plan.evaluation.protocol
    alone = Evaluation(protocol, {"STSBenchmark": {"dev_spearman_cosine": 60.0}}, parts="development")
    whole = Evaluation(protocol, {task: {} for task in task_names(plan.evaluation.tasks)})
    for trial, evaluation, done in (
        (row, alone, False),
        (row, whole, True),
        (other, alone, True),
        (other, whole, True),
        (other, dataclasses.replace(alone, scores={"MR": {}}), False),
    ):
        ledger.write(record(trial, evaluation))
        assert ledger.has(trial.recipe_hash, trial.seed) is done, (trial.name, evaluation.parts)
    assert alone.name != dataclasses.replace(alone, parts="all").name


def test_tests_that_are_asked_for_later_train_the_recipe_again(tmp_path: Path) -> None:
    """Of a recipe that has become a row, and of all by `evaluation.explored`; its numbers of before stay beside."""
    plan = plan_of("--goals", "sts", "--trials", "1", results=tmp_path)
    row = plan.fixed_trials()[0]
    numbers = {"STSBenchmark": {"dev_spearman_cosine": 60.0}}
    alone = Evaluation(plan.evaluation.protocol, numbers, parts="development")
    ledger = Ledger(tmp_path / LEDGER, plan.scoring_of)
    ledger.write(record(row, alone))
    searcher = TuneSearcher(plan, ledger)
    assert row.key in {trial.key for trial in searcher.agenda.waiting()}
    scores = {"STSBenchmark": {"dev_spearman_cosine": 61.0, "test_spearman_cosine": 50.0}}
    both = record(row, Evaluation(alone.protocol, scores)).with_earlier_evaluations(record(row, alone))
    assert [evaluation.parts for evaluation in both.evaluations] == ["development", "all"]
    assert both.scores == scores == record(row, *reversed(both.evaluations)).scores
    assert both.tested
    assert not record(row, alone).tested


def test_a_trial_goes_to_its_worker_with_its_own_evaluation(tmp_path: Path) -> None:
    plan = plan_of("--goals", "sts", results=tmp_path)
    row = plan.fixed_trials()[0]
    other = Trial(plan.base.override({"optimisation.learning_rate": 0.123}), 0, "optuna 1")
    models = ModelsKept(plan.request.keep_models, [])
    sent = [to_run(trial, plan, ALLOTMENT, models, False, "2 cores") for trial in (row, other)]
    assert [(trial.evaluation.parts, trial.saves_model) for trial in sent] == [("all", True), ("development", False)]


@pytest.mark.parametrize("goals", [[], ["sts", "transfer"]], ids=["one goal", "two goals"])
def test_a_report_of_development_numbers_alone_has_dashes_for_tests(goals: list[str], tmp_path: Path) -> None:
    """Everything that is said of explored recipes is said; no test is taken for one, and no flag is raised by it."""
    for name in ("whole", "alone"):
        make_results(tmp_path / name, load_space("scl_ablation"), rows=["SBERT baseline"], explored=3, seeds=(0,))
        info = StudyInfo.load(tmp_path / name)
        dataclasses.replace(info, goals=goals).save(tmp_path / name)
        ledger = Ledger(tmp_path / name / LEDGER)
        for entry in ledger.read():
            (whole_one,) = entry.evaluations
            overlap = {task: {"items": 60, "seen": 0} for task in whole_one.scores}
            known = dataclasses.replace(whole_one, data={**whole_one.data, "overlap": overlap})
            explored = name == "alone" and entry.recipe_hash in info.explored
            ledger.write(dataclasses.replace(entry, evaluations=[without_tests(known) if explored else known]))
    whole, alone = (Results.load(tmp_path / name) for name in ("whole", "alone"))
    assert goals_of(alone) == goals_of(whole)
    flagged = [{flag.guard for flag in find_flags(results).all} for results in (whole, alone)]
    assert flagged[1] <= flagged[0]
    report = write_report(tmp_path / "alone").read_text("utf-8")
    lines = [line for line in report.splitlines() if line.startswith("|") and "`#" in line]
    assert lines
    assert all("—" in line for line in lines)
    assert check(tmp_path / "alone") == []


def without_tests(whole: Evaluation) -> Evaluation:
    numbers = {
        task: {name: value for name, value in whole.scores[task].items() if name.startswith("dev_")}
        for task in ("STSBenchmark", *GROUPS["transfer"])
    }
    read = {"senteval": {"source": "scenes", "fingerprint": "0123"}}
    return dataclasses.replace(whole, scores=numbers, parts="development", data=read)


def goals_of(results: Results) -> list[Measured | None]:
    return [results.goal(results.of_hash(key), goal) for key in results.explored for goal in results.goals]
