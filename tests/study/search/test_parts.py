"""A limited search whose recipes begin on a part of the data, with a ledger and a journal on disk."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from reports.document import markdown
from reports.facts.answer import Answer
from reports.facts.part_scores import part_scores, passed_over
from reports.facts.recipe_names import recipe_names
from reports.facts.results import Results
from reports.importance import MIN_RECIPES
from reports.ledger import FAILURES, LEDGER, Ledger, Record, is_fresh, training_seconds
from reports.ledger.finals import PART_SEED, SHARE
from reports.live.folder import Folder
from reports.sections import explored, mattered, what_was_run
from reports.sections.finals import _passed_over
from reports.sections.importance import MIN_RECIPES_ON_BOTH, _agreement, _scored
from reports.testing import made_record
from study.results_folder.prepare import prepare_results, save_info
from study.search.agenda import Agenda
from study.search.agenda_words import LATER, SOONER
from study.search.budget import Budget
from study.search.choice import PartScores, best_on_parts
from study.search.explorer import OptunaExplorer
from study.search.ladder import Ladder, ladder_for
from study.search.tune_searcher import TuneSearcher
from study.testing.agenda import SimulatedClock, drive
from study.trial import Trial
from tests.conftest import slow_case
from tests.study.search.test_agenda import BASE
from tests.study.search.test_search import dev, finish, make

WHOLE, SCORING = 150.0, 6.0
"""Seconds of a training on all of the data, and of scores."""
WHOLE_STEPS = 40
SEARCH = ("--space", "scl_tau", "--search", "optuna", "--sampler", "random", "--goals", "sts", "--trials", "60")
EPOCH = ("--set", "optimisation.max_steps=none", "--limit", "worker_hours=1.5")
LIMITED = (*SEARCH, "--finals", "1x3", *EPOCH)


def run(searcher: TuneSearcher, ledger: Ledger, most: int = 1000) -> list[Trial]:
    """One trial after another."""
    ran: list[Trial] = []
    while len(ran) < most and isinstance(task := searcher.suggest(f"t{len(ran)}"), dict):
        (trial,) = task["trials"]
        score, cost = outcome(trial)
        finish(
            searcher, ledger, task, score, cost=cost, training={"steps": WHOLE_STEPS * cost["train_seconds"] // WHOLE}
        )
        ran.append(trial)
    return ran


def outcome(trial: Trial) -> tuple[float, dict[str, float]]:
    """A development score, and the cost: a training takes as long as its share of the data."""
    flat = trial.recipe.flat()
    share = float(str(flat["corpus.share"])) if trial.recipe.trains else 0.0
    away = abs(float(str(flat.get("objective.temperature", 3.0))) - 0.3)
    cost = {"seconds": WHOLE * share + SCORING, "train_seconds": WHOLE * share}
    return 60.0 - away + 5 * share + 0.01 * (trial.seed % 7), cost


def simulated(trial: Trial, less: float = 0.0) -> tuple[float, Record]:
    """The same for an agenda: seconds, and the record."""
    score, cost = outcome(trial)
    scores = dev(score - less)
    return cost["seconds"], made_record(trial.recipe.flat(), trial.recipe_hash, trial.seed, scores=scores, cost=cost)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Trial], TuneSearcher]:
    """A study that nobody kills, saved."""
    folder = tmp_path_factory.mktemp("whole")
    plan, ledger, searcher = make(folder, *LIMITED)
    info = prepare_results(plan, "")
    ran = run(searcher, ledger)
    save_info(plan, info, searcher.explored, searcher.finals)
    return folder, ran, searcher


def test_the_report_names_what_ran_on_a_part(whole: tuple[Path, list[Trial], TuneSearcher]) -> None:
    folder, ran, searcher = whole
    results = Results.load(folder)
    parts = {trial.recipe_hash: trial.name for trial in ran if trial.seed == PART_SEED}
    assert {record.recipe_hash for record in results.parts} == {*parts}
    assert not {*parts} & {*results.recipes}
    names = recipe_names(results)
    explored_names = {name for name in parts.values() if not name.endswith("base settings")}
    assert {names[key] for key in parts} >= explored_names
    assert all(names[each.recipe.hash] == each.name for each in searcher.explorer.proposed)
    view = Folder(folder).view()
    shares, shown = [best.share for best in view.best], view.names
    assert shares == sorted(shares, reverse=True)
    assert len({*shares}) > 2
    assert {shown[f"{key}-{PART_SEED}"] for key in parts} >= explored_names
    left = len({name.partition(": ")[2] for name in explored_names})
    text = markdown(explored.write(results, folder / "pictures"))
    assert f", {left} ended on a part of the data" in text
    table = text.partition("Development scores by how much")[2].splitlines()
    rows = [line for line in table if line.startswith("| `")]
    assert len(rows) == len({name.partition(": ")[2] for name in parts.values()})
    assert [row for row in rows if f"`{searcher.explorer.proposed[0].name}`" in row]
    wholes = [row.split("|")[-3].strip() != "—" for row in rows]
    assert wholes == sorted(wholes, reverse=True)  # who came farthest is first
    fresh = sum(is_fresh(trial.seed) for trial in ran)
    counted = f"{len(ran)} finished (of them {len(parts)} on a part of the data, {fresh} in the finals alone)"
    assert counted in markdown(what_was_run.write(results, folder / "pictures"))


def test_the_report_names_better_recipes_that_had_no_room_in_the_finals(
    whole: tuple[Path, list[Trial], TuneSearcher], tmp_path: Path
) -> None:
    results = Results.load(whole[0])
    finals = results.info.finals
    share = max(share for share, _ in results.whole_recipes.values())
    goal = results.goals[0]
    scores = {
        recipe.hash: goal.of(record.scores, record.cost)
        for record in results.parts
        for of, recipe in [results.whole_recipes[record.recipe_hash]]
        if of == share and recipe.hash != finals.base
    }
    best, *others = sorted(scores, key=lambda key: -scores[key])
    assert finals.finalists == [best]
    assert passed_over(results) is None
    lowest = dataclasses.replace(results.info, finals=dataclasses.replace(finals, finalists=[others[-1]]))
    shutil.copytree(whole[0], tmp_path / "study")
    lowest.save(tmp_path / "study")
    passed = passed_over(Results.load(tmp_path / "study"))
    assert passed.last == others[-1]
    assert [*passed.leads.items()] == [(key, scores[key] - scores[others[-1]]) for key in (best, *others[:-1])]
    (text,) = _passed_over(Results.load(tmp_path / "study"))
    names = recipe_names(results)
    assert text.startswith(
        f"On 1/2 of the data these scored higher in development than `{names[others[-1]]}`: `{names[best]}` by "
    )
    assert ("and others" in text) == (len(passed.leads) > 3)


def test_what_mattered_is_looked_for_on_the_part_that_most_recipes_trained_on(
    whole: tuple[Path, list[Trial], TuneSearcher], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, ran, _ = whole
    results = Results.load(folder)
    smallest = [trial for trial in ran if trial.seed == PART_SEED and trial.recipe.flat()[SHARE] == 0.125]
    text = markdown(mattered.write(results, tmp_path))
    goal = "STS goal on development parts after training on 1/8 of the data"
    few = f"; {len(smallest)} have the {goal}."
    assert few in text if len(smallest) < MIN_RECIPES else f"for the {goal}" in text
    (searched,) = _scored(results).values()
    assert searched.share < 1
    on_both = [each for each in part_scores(results, searched.goal).values() if {searched.share, 1.0} <= each.keys()]
    assert bool(_agreement(results, searched)) == (len(on_both) >= MIN_RECIPES_ON_BOTH)
    assert _agreement(results, dataclasses.replace(searched, share=1.0)) == ""
    unscored = dataclasses.replace(results, records=[], parts=[])
    assert "is unknown: no recipe of the search has a score" in markdown(mattered.write(unscored, tmp_path))


def test_a_new_plan_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, ledger, searcher = make(tmp_path, *LIMITED)
    run(searcher, ledger, most=3)
    plan = capsys.readouterr().out
    size, searcher.agenda.rounds.size = searcher.agenda.rounds.size, None
    searcher.suggest("without a search")
    without = capsys.readouterr().out
    assert without.startswith(f"{LATER}: {plan.partition('; ')[0]}, which leaves too little to")
    searcher.agenda.rounds.size = size
    searcher.suggest("with one")
    assert capsys.readouterr().out.partition("; ")[0] == f"{SOONER}: {plan.partition('; ')[0]}"


def test_simulated_time_has_the_same_trials_in_the_same_order(
    whole: tuple[Path, list[Trial], TuneSearcher], tmp_path: Path
) -> None:
    """What a replay drives is what a study goes by."""
    plan, _, _ = make(tmp_path, *LIMITED)
    clock = SimulatedClock()
    search = Agenda(plan.design, Budget(plan.limits, clock=clock), (), OptunaExplorer(plan))
    ran = drive(search, clock, simulated)
    assert search.limited
    assert search.ladder == whole[2].agenda.ladder == Ladder((0.125, 0.5))
    assert [(each.trial.key, each.trial.name) for each in ran] == [(trial.key, trial.name) for trial in whole[1]]


@pytest.mark.parametrize(("hours", "seeds"), [(0.7, 4), (1.0, 5)])
def test_without_a_finalist_the_base_settings_have_the_seeds_that_there_is_room_for(
    hours: float, seeds: int, tmp_path: Path
) -> None:
    """The size of the finals was settled with room for a finalist."""
    plan, _, _ = make(tmp_path, *SEARCH, "--finals", "1x5", *EPOCH[:-1], f"worker_hours={hours}")
    clock = SimulatedClock()
    budget = Budget(plan.limits, clock=clock)

    def below_the_base(trial: Trial) -> tuple[float, Record]:
        return simulated(trial, less=20 * (trial.recipe.preferring({SHARE: 1.0}).hash != plan.base.hash))

    agenda = Agenda(plan.design, budget, (), OptunaExplorer(plan))
    ran = drive(agenda, clock, below_the_base)
    assert agenda.finalists == []
    fresh = {each.trial.seed for each in ran if each.trial.recipe_hash == plan.base.hash and is_fresh(each.trial.seed)}
    assert len(fresh) == seeds
    assert budget.spent("worker_hours") <= hours


def test_recipes_that_a_part_told_of_were_tried_and_one_that_failed_there_failed(
    whole: tuple[Path, list[Trial], TuneSearcher], tmp_path: Path
) -> None:
    folder, ran, _ = whole
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    explored_whole = {trial.recipe_hash for trial in ran if not trial.row and trial.seed == 0}
    answer = Answer.of(Results.load(tmp_path))
    assert answer.tried > answer.whole > len(explored_whole)
    again = [trial.recipe.override({SHARE: 1.0}).hash for trial in ran if trial.seed == PART_SEED]
    lost = next(
        trial
        for trial, key in zip((trial for trial in ran if trial.seed == PART_SEED), again, strict=True)
        if key not in explored_whole and not trial.name.endswith("base settings")
    )
    (tmp_path / LEDGER / f"{lost.key}.json").unlink()
    (tmp_path / FAILURES).mkdir(exist_ok=True)
    (tmp_path / FAILURES / f"{lost.key}.json").write_text(json.dumps({"recipe": dict(lost.recipe.flat())}))
    text = markdown(explored.write(Results.load(tmp_path), tmp_path / "pictures"))
    assert ", 1 failed" in text
    assert "not finished" not in text


@pytest.mark.parametrize(
    "killed", [slow_case(trials, when=trials not in (1, 9, -4)) for trials in (1, 4, 8, 9, 15, 24, 30, -9, -4, -1)]
)
def test_killed_anywhere_it_ends_as_if_it_were_not(
    killed: int, whole: tuple[Path, list[Trial], TuneSearcher], tmp_path: Path
) -> None:
    """In the probe, among rows, on parts, on all of the data, and in the finals. What was lost counts for nothing in
    hours of workers."""
    ran = whole[1]
    most = killed if killed > 0 else len(ran) + killed
    _, ledger, searcher = make(tmp_path, *LIMITED)
    first = run(searcher, ledger, most=most)
    searcher.suggest("lost")
    _, ledger, searcher = make(tmp_path, *LIMITED)
    second = run(searcher, ledger)
    assert [trial.key for trial in [*first, *second]] == [trial.key for trial in ran]


@pytest.mark.parametrize(
    ("trainings", "steps", "gains", "before", "parts"),
    [
        (10, None, None, (), (0.125,)),
        (10, 6, None, (), (0.125,)),
        (30, 4, None, (), (0.125, 0.5)),
        (10, 4, None, (0.125, 0.5), (0.125, 0.5)),
        (10, 1, None, (0.125,), (0.125,)),
        (30, 1, None, (0.125,), (0.125, 0.5)),
        (60, 4, None, (), (0.125, 1.0)),
        (60, 4, None, (0.125, 0.5), (0.125, 0.5)),
        (60, 2, None, (0.25,), (0.25, 1.0)),
        (60, 1, None, (), (0.5,)),
        (10, 3, None, (), (0.25,)),
        (30, 2, None, (), (0.25, 0.5)),
        (30, 1, None, (), (0.5,)),
        (12, 1, None, (), (0.5,)),
        (9, 1, None, (), (0.25,)),
        (7, 1, None, (), (0.125,)),
        (5, 1, None, (0.5,), (0.5,)),
        (30, 50, True, (), (0.125, 0.5)),
        (30, 50, None, (), (0.125, 0.5)),
        (30, 50, False, (), (0.5,)),
        (60, 50, False, (), (0.5,)),
        (12, 50, False, (), (0.5,)),
        (9, 50, False, (), (0.25,)),
        (30, 50, False, (0.125,), (0.125, 0.5)),
    ],
)
def test_recipes_begin_on_a_part_that_has_some_steps_and_on_which_the_base_gains(
    trainings: float, steps: int | None, gains: bool | None, before: tuple[float, ...], parts: tuple[float, ...]
) -> None:
    """One that goes on stays where it was; a larger part needs room for some recipes."""
    assert ladder_for(trainings, 2, BASE, before, steps, gains) == Ladder(parts)


def test_of_few_rows_recipes_begin_on_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The base settings train on an eighth, to know the pace, and on half, to be compared with."""
    monkeypatch.setattr("study.search.ladder.STEPS", WHOLE_STEPS // 2)
    _, ledger, searcher = make(tmp_path, *LIMITED)
    ran = run(searcher, ledger)
    assert searcher.agenda.ladder == Ladder((0.5,))
    shares = [trial.recipe.flat()[SHARE] for trial in ran if trial.part]
    assert shares[0] == 0.125
    assert {*shares[1:]} == {0.5}


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        ((), True),
        (("--search", "grid"), False),
        (("--set", "optimisation.max_steps=90"), False),
        (("--scheduler", "asha"), False),
        (("--seeds", "1:3"), False),
        (("--goals", "sts,seconds"), False),
        (("--space", "clsr_main"), False),
    ],
    ids=str,
)
def test_where_a_part_is_of_no_use_recipes_train_on_all_of_the_data(
    more: tuple[str, ...], parts: bool, tmp_path: Path
) -> None:
    search = ("--space", "scl_tau", "--search", "optuna", "--goals", "sts", "--finals", "1x3", *EPOCH)
    assert make(tmp_path, *search, *more)[0].design.allows_parts == parts


def test_who_is_a_finalist_rests_on_the_parts_alone() -> None:
    """What fresh seeds take must not change the choice when a study goes on; a larger part has the last word, also of
    those that had no score there."""
    seconds = {"base": 10.0, "long": 30.0, "short": 10.0, "other": 10.0}
    small = PartScores({"base": 70.0, "long": 80.0, "short": 79.9, "other": 79.0}, seconds)
    assert [*best_on_parts([small], "base")] == [["short", "long", "other"]]
    assert [key for key in small.scores if small.has_shorter_alternative(key)] == ["long"]
    even = dataclasses.replace(small, seconds=dict.fromkeys(small.scores, 10.0))
    assert [*best_on_parts([even], "base")] == [["long", "short", "other"]]
    assert not any(map(even.has_shorter_alternative, even.scores))
    large = PartScores({"base": 75.0, "long": 76.0}, {"base": 20.0, "long": 60.0, "short": 20.0})
    assert [*best_on_parts([large, small], "base")] == [["long"], ["other"]]


def test_trainings_of_the_same_work_take_as_long() -> None:
    """On a busy machine the clock makes one of them look slow. More steps, another guide, or more workers are other
    work; what prepares a training is no work of its own."""

    def trained(seed: int, seconds: float | None, steps: int = 70, workers: int = 1, **recipe: Any) -> Record:
        flat = {"objective.name": "mnrl"} | {f"objective.{key}": value for key, value in recipe.items()}
        cost = {"workers": workers} | ({} if seconds is None else {"train_seconds": seconds + seed})
        training = {"steps": steps} | ({} if seconds is None else {"seconds": seconds})
        return made_record(flat, "0" * 12, seed, cost=cost, training=training)

    same = [trained(0, 90.0), trained(1, 160.0, temperature=0.1), trained(2, 110.0, margin=0.3)]
    other = [trained(3, 30.0, guide="large"), trained(4, 200.0, steps=140), trained(5, 25.0, workers=2)]
    seconds = training_seconds([*same, *other, trained(6, None)])
    assert [*seconds.values()] == [90.0] * 3 + [30.0, 200.0, 25.0]
    assert [*seconds] == [record.key for record in (*same, *other)]
