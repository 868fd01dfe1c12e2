"""A goal of one's own is a goal everywhere: a recipe is planted that is the best by an own task and worse by STS, and
every place that names a best one, or a figure, must name that one, and the task's own."""

from __future__ import annotations

import csv
import dataclasses
import math
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from reports.document import markdown
from reports.export import card
from reports.facts.answer import Answer
from reports.facts.best_model import ranking
from reports.facts.findings import Findings
from reports.facts.recipe_names import name_of, recipe_names
from reports.facts.results import Results
from reports.facts.standings import RecordStandings
from reports.formats.data import _recipe
from reports.formats.trials_csv import write_trials_csv
from reports.ledger import LEDGER, Ledger, Record, StudyInfo
from reports.live.folder import Folder
from reports.sections import Write, explored, finals, pareto, sure
from reports.sections.importance import _scored
from reports.testing import changed
from reports.words.answer import lines
from reports.words.comparisons import difference
from search_spaces.goals import searched
from search_spaces.own_data import GENERAL_TASK
from study.callbacks import StudyState
from study.callbacks.console import describe, legend
from study.callbacks.prometheus import Prometheus
from study.callbacks.tracker import measured
from study.check import check_plan
from study.engine.models_kept import ModelsKept
from study.plan import Plan
from study.results_folder.prepare import prepare_results, save_info
from study.search.explorer import OptunaExplorer
from study.search.seed_race import StudySeedRace
from study.trial import Trial
from tests.study import plans
from tests.study.search.test_search import finish, searcher_of, suggestions
from tests.synthetic_results import add_finals, make_results, named_in
from trainables.errors import UserError
from trainables.keys import Value
from trainables.recipe import Recipe
from trainables.senteval.own_tasks import own_tasks
from trainables.senteval.tasks import TASKS, Task

FINALISTS = 3


@pytest.fixture(scope="module")
def own_task(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Task]:
    """Two classes, whose files are there."""
    folder = tmp_path_factory.mktemp("mine")
    lines = [f"{('calm', 'loud')[number % 2]} word {number}\t{number % 2}\n" for number in range(20)]
    for part in ("train", "dev", "test"):
        (folder / f"{part}.tsv").write_text("sentence\tlabel\n" + "".join(lines).replace("word", part), "utf-8")
    task = Task("mine", "split", "table", tuple(str(folder / f"{part}.tsv") for part in ("train", "dev", "test")))
    TASKS.add(task)
    yield task
    TASKS.remove("mine")


@pytest.fixture
def planted(field: Path, tmp_path: Path) -> Results:
    return Results.load(Path(shutil.copytree(field, tmp_path / "study")))


@pytest.fixture(scope="module")
def field(own_task: Task, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of six explored recipes the last finalist is the best by `mine`, by 2 points in the finals, and by all else
    it is the worst, by 6 points."""
    folder = tmp_path_factory.mktemp("field")
    make_results(folder, rows=["SBERT baseline"], explored=6, seeds=(0,))
    dataclasses.replace(StudyInfo.load(folder), goals=["mine"]).save(folder)
    names = Results.load(folder).explored[:FINALISTS]
    add_finals(folder, (-3.0, 1.0, 3.0), finalists=names[::-1])
    ledger = Ledger(folder / LEDGER)
    for record in ledger.read():
        ledger.write(_with_own(record, names))
    return folder


def _with_own(record: Record, finalists: list[str]) -> Record:
    """The record with scores of `mine`, the higher the later the finalist; and by STS the last one is the worst."""
    gain = 2.0 * finalists.index(record.recipe_hash) if record.recipe_hash in finalists else -2.0
    luck = 0.2 * (record.seed % 3)
    scores = {task: dict(numbers) for task, numbers in record.scores.items()}
    scores["mine"] = {"dev_accuracy": 70 + gain + luck, "test_accuracy": 66 + gain - luck, "examples": [20, 20]}
    scores["STSBenchmark"] |= {f"{part}_spearman_cosine": 70 - 3 * gain + luck for part in ("dev", "test")}
    return changed(record, scores=scores)


def test_the_answer_is_judged_by_its_own_test(planted: Results) -> None:
    best = planted.explored[FINALISTS - 1]
    answer = Answer.of(planted)
    assert [pick.recipe for pick in answer.picked] == [best]
    assert answer.kind == "use"
    assert answer.figure == "mine test_accuracy"
    assert answer.picked[0].gains["base"].gain == pytest.approx(6.0, abs=0.1)
    assert answer.picked[0].figure.gain == pytest.approx(70.0, abs=0.3)


@pytest.fixture
def general(tmp_path: Path) -> Iterator[str]:
    """As `--train` adds it, where no other test has added one before."""
    before = [TASKS[name] for name in (GENERAL_TASK,) if name in TASKS]
    for other in before:
        TASKS.remove(other.name)
    (tmp_path / "pairs.tsv").write_text("score\tsentence1\tsentence2\n" + "1\ta\tb\n2\tc\td\n3\te\tf\n", "utf-8")
    (task,) = own_tasks([], [f"{GENERAL_TASK}={tmp_path / 'pairs.tsv'}"])
    TASKS.add(task)
    yield task.name
    TASKS.remove(task.name)
    for other in before:
        TASKS.add(other)


def test_what_became_of_general_sentences_is_said(planted: Results, general: str) -> None:
    assert Answer.of(planted).general is not None  # STSBenchmark, which no goal looks at
    for record in planted.of_all_trials:
        scores = {task: numbers for task, numbers in record.scores.items() if task != "STSBenchmark"}
        own = record.scores["mine"]["test_accuracy"]
        scores[general] = {"test_spearman": 100 - own if isinstance(own, float) else None, "examples": [3]}
        Ledger(planted.folder / LEDGER).write(changed(record, scores=scores))
    results = Results.load(planted.folder)
    answer = Answer.of(results)
    assert (answer.general.task, answer.general.over) == (general, "encoder")
    gain = answer.general.gain
    assert gain.gain < 0
    worse = [line.words for line in lines(answer, results.info, str) if line.head == "Worse"]
    loss = f"{general} {difference(gain.gain, gain.low, gain.high)} against the original encoder"
    assert any(loss in words for words in worse)


def plan_of(results: Results, goals: str = "mine", *more: str) -> Plan:
    """The study goes on."""
    tasks = "sts,transfer,STSBenchmark,mine"
    command = ["--space", "scl_ablation", "--search", "optuna", "--scale", "laptop", "--goals", goals]
    command += ["--results", str(results.folder), "--set", f"evaluation.tasks={tasks}", *more]
    return plans.plan_of(*command)


def highest(results: Results, value: Callable[[Record], float | None]) -> str:
    """The explored recipe whose record has the highest value."""
    numbers = {key: value(results.recipes[key][0]) for key in results.explored}
    assert None not in numbers.values()
    return max(numbers, key=lambda key: numbers[key] or 0.0)


def searched_for(results: Results) -> str:
    explorer = OptunaExplorer(plan_of(results))
    return highest(results, lambda record: (explorer._values(record) or [None])[0])


def judged_at_rungs(results: Results) -> str:
    rungs = plan_of(results, "mine", "--scheduler", "asha").rungs
    (measure,) = rungs.measures
    by_task = "mine.dev_accuracy", "STSBenchmark.dev_spearman_cosine"
    return highest(results, lambda record: measure.of({name: _number(record, name) for name in by_task}))


def _number(record: Record, name: str) -> float:
    task, _, number = name.partition(".")
    return float(record.scores[task][number])


def raced(results: Results) -> str:
    explored = {key: Recipe.from_flat(results.recipes[key][0].recipe) for key in results.explored}
    race = StudySeedRace([], range(1), 4, searched(["mine"]), None, {record.key: record for record in results.records})
    for recipe in explored.values():
        race.enter(Trial(recipe, 0, ""))
    values = {key: race.race.recipes[key].values[0] for key in results.explored}
    return max(values, key=lambda key: (values[key] or [0.0])[0])


def best_for_the_finals(results: Results) -> str:
    return RecordStandings(results.records, searched(["mine"]), {}).ranked()[0].recipe_hash


def kept_model(results: Results) -> str:
    kept = ModelsKept(1, searched(["mine"]))
    records = [changed(results.recipes[key][0], checkpoint="models/x") for key in results.explored]
    beaten_keys = {key for record in records for key in kept.replaced_by(record)}
    (left,) = [record for record in records if record.key not in beaten_keys]
    return left.recipe_hash


def on_the_console(results: Results) -> str:
    def dev(record: Record) -> float:
        words = describe(record, results.goals, ()).split()
        assert words[::2][:2] == ["dev", "test"]
        return float(words[1])

    assert "test: what judges it" in legend(results.goals, ())
    return highest(results, dev)


def to_trackers(results: Results) -> str:
    assert all("test/mine" in measured(record, results.goals) for record in results.records if record.scores)
    return highest(results, lambda record: measured(record, results.goals)["development/mine"])


def as_a_gauge(results: Results) -> str:
    ledger = Ledger(results.folder / LEDGER)
    state = StudyState(plan_of(results), ledger, 1, lambda: 0, lambda: ())
    best = Prometheus(state).best["mine"]
    hashes = {record.recipe_hash for record in ledger.read() if record.scores["mine"]["dev_accuracy"] == best}
    (key,) = hashes
    return key


def on_the_live_page(results: Results) -> str:
    names = {name: key for key, name in recipe_names(results).items()}
    view = Folder(results.folder).view()
    assert [goal.short for goal in view.goals] == ["mine"]
    return names[view.best[0].name]


def in_the_table(results: Results) -> str:
    path = results.folder / "trials.csv"
    write_trials_csv(path, results.records, results.labels, recipe_names(results), results.goals)
    with path.open(encoding="utf-8") as file:
        return max(csv.DictReader(file), key=lambda line: float(line["average.development_mine"]))["recipe_hash"]


def as_data(results: Results) -> str:
    recipes = [_recipe(results, key) for key in results.explored]
    assert all(recipe["figures"]["mine test_accuracy"]["mean"] for recipe in recipes)
    return str(max(recipes, key=lambda recipe: float(recipe["goals"]["mine"]))["recipe"])


def of_importance(results: Results) -> str:
    (searched,) = _scored(results).values()
    scored = searched.scores
    return max(scored, key=lambda pair: pair[1])[0].recipe_hash


def on_the_front(results: Results) -> str:
    several = dataclasses.replace(results, space=dataclasses.replace(results.space, goals=("mine", "encode_ms")))
    records = [changed(record, cost={**record.cost, "encode_ms": 2.0}) for record in several.records]
    text = markdown(pareto.write(dataclasses.replace(several, records=records), results.folder / "pictures"))
    assert "encoding in ms (lower is better)" in text
    assert "test: mine" in text
    (only,) = {*named_in(results, text)}
    return only


def _exported(results: Results) -> str:
    """The card tells of the task, and the best trial is of the recipe."""
    key = ranking(results)[0].recipe_hash
    text = card(results, results.recipes[key][0])
    assert re.search(r"\| mine test_accuracy +\| +1 \| 70\.00 \| +\+6\.00 \|", text)
    return key


PLACES: Mapping[str, Callable[[Results], str]] = {
    "search": searched_for,
    "pruning": judged_at_rungs,
    "race": raced,
    "finalists": best_for_the_finals,
    "answer": lambda results: Answer.of(results).picked[0].recipe,
    "ranking": lambda results: ranking(results)[0].recipe_hash,
    "best model": lambda results: (Findings.of(_with_models(results)).best or results.records[0]).recipe_hash,
    "models kept": kept_model,
    "console": on_the_console,
    "trackers and TensorBoard": to_trackers,
    "Prometheus": as_a_gauge,
    "live page": on_the_live_page,
    "trials.csv": in_the_table,
    "report.json": as_data,
    "export": _exported,
    "importance": of_importance,
    "front": on_the_front,
    "section explored": lambda results: first_named(results, explored.write),
    "section in short": lambda results: named_in(results, _saved(_with_models(results)))[0],
    "section finals": lambda results: first_named(results, finals.write),
}


def first_named(results: Results, write: Write) -> str:
    """The hash of the recipe that the section names first."""
    return named_in(results, markdown(write(results, results.folder / "pictures")))[0]


def _with_models(results: Results) -> Results:
    records = [changed(record, checkpoint=f"models/{record.key}") for record in results.records]
    return dataclasses.replace(results, records=records)


def _saved(results: Results) -> str:
    findings = Findings.of(results)
    return sure.best_model(results, findings.boards, findings.best)


def test_every_place_names_the_best_by_the_own_goal(planted: Results) -> None:
    best = planted.explored[FINALISTS - 1]
    by_sts = highest(planted, lambda record: record.scores["STSBenchmark"]["dev_spearman_cosine"])
    assert best != by_sts
    named = {place: name_of(planted, of(planted)) for place, of in PLACES.items()}
    assert named == dict.fromkeys(PLACES, name_of(planted, best))


def test_of_a_weighted_goal_the_mean_is_the_figure_and_beside_it_stand_its_parts(planted: Results) -> None:
    results = dataclasses.replace(planted, space=dataclasses.replace(planted.space, goals=("mine*3", "sts")))
    answer = Answer.of(results)
    assert answer.figure == "weighted 75% mine + 25% STS (mean of 2 tasks)"
    assert {figure.task for figure in answer.beside} == {"mine", "STS (STSBenchmark)"}


def test_of_two_own_goals_the_one_that_shows_the_gain_is_the_figure(planted: Results) -> None:
    """The other goal and the mean of both stand beside it."""
    results = dataclasses.replace(planted, space=dataclasses.replace(planted.space, goals=("mine", "sts")))
    answer = Answer.of(results)
    assert answer.figure == "mine"
    assert {figure.task for figure in answer.beside} == {"mine and STS (mean of 2 tasks)", "STS (STSBenchmark)"}


def test_what_an_explored_recipe_is_scored_on_follows_from_the_goal(planted: Results) -> None:
    """On its own development part alone; a weighted goal is one that a scheduler for one goal judges."""
    assert plan_of(planted).exploring.tasks == ("mine",)
    assert plan_of(planted).exploring.parts == "development"
    plan = plan_of(planted, "mine*3,sts", "--scheduler", "asha")
    assert {*plan.exploring.tasks} == {"mine", "STSBenchmark"}
    (measure,) = plan.rungs.measures
    assert measure.name == plan.space.goals[0] == "mine*3+sts"
    assert measure.of({"mine.dev_accuracy": 80.0, "STSBenchmark.dev_spearman_cosine": 40.0}) == 70.0


@pytest.mark.parametrize(
    ("goals", "more", "sentence"),
    [
        (
            "mine",
            ("--set", "evaluation.tasks=sts"),
            "the goal mine looks at mine, and evaluation.tasks has no task that",
        ),
        ("mine*2,sts", ("--set", "evaluation.tasks=mine"), "looks at STSBenchmark"),
        (
            "STSBenchmark.pearson_regressor",
            ("--scheduler", "asha"),
            "while they train, when the goal 'STSBenchmark.pearson_regressor' is not known yet",
        ),
    ],
)
def test_a_goal_that_cannot_be_had_is_refused(
    goals: str, more: tuple[str, ...], sentence: str, planted: Results
) -> None:
    with pytest.raises(UserError, match=re.escape(sentence)):
        check_plan(plan_of(planted, goals, *more))


PLANTED = {"mine": 0.07, "sts": 1.5}
"""The tau that is the best by each goal; no row has it."""


def scores_at(record: Mapping[str, Value], seed: int) -> dict[str, dict[str, object]]:
    """What a training would score: the further tau is from that of a goal, by its logarithm, the lower, with luck."""
    tau = record.get("objective.temperature", 5.0)
    assert isinstance(tau, float)
    mine, sts = (80 - 8 * abs(math.log(tau / best)) + 0.1 * (seed % 3) for best in PLANTED.values())
    return {
        "mine": {"dev_accuracy": mine, "test_accuracy": mine - 3, "examples": [20, 20]},
        "STSBenchmark": {"dev_spearman_cosine": sts, "test_spearman_cosine": sts - 3},
    }


@pytest.mark.slow
@pytest.mark.parametrize("goal", PLANTED)
def test_a_search_finds_the_planted_recipe_by_its_goal_and_every_place_names_it(
    goal: str, own_task: Task, tmp_path: Path
) -> None:
    """By the other goal another recipe is the best, which the same search finds when it is asked for that."""
    command = ["--space", "scl_tau", "--search", "optuna", "--trials", "24", "--finals", "2x3", "--scale", "laptop"]
    command += ["--goals", goal, "--set", "evaluation.tasks=STSBenchmark,mine", "--results", str(tmp_path / "found")]
    plan = plans.plan_of(*command)
    info = prepare_results(plan, "hardware")
    ledger = Ledger(plan.results / LEDGER)
    searcher = searcher_of(plan, ledger)
    for config in suggestions(searcher):
        (trial,) = config["trials"]
        finish(searcher, ledger, config, None, scores=scores_at(trial.recipe.flat(), trial.seed))
    save_info(plan, info, searcher.explored, searcher.finals)

    results = Results.load(plan.results)
    taus = {key: float(str(results.recipes[key][0].recipe["objective.temperature"])) for key in results.explored}
    best = min(taus, key=lambda key: abs(math.log(taus[key] / PLANTED[goal])))
    far = sorted(abs(math.log(tau / PLANTED[goal])) for tau in taus.values())
    assert far[0] < 0.05
    assert far[len(far) // 2] < 0.45, "of random ones half would be further than 0.9"
    assert [pick.recipe for pick in Answer.of(results).picked] == [best]
    assert ranking(results)[0].recipe_hash == best
    named = Findings.of(_with_models(results)).best
    assert named.recipe_hash == best
