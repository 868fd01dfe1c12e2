"""Whatever a study looks for: console, live page, report, export and the page on Python name the same best model."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reports.document import markdown
from reports.export import export
from reports.facts.answer import Answer
from reports.facts.best_model import best_first, ranking
from reports.facts.findings import Findings
from reports.facts.recipe_names import name_of
from reports.facts.results import Results
from reports.ledger import LEDGER, Ledger, StudyInfo, fresh_seeds, is_fresh
from reports.ledger.location import ResultsLocation
from reports.live.folder import Folder
from reports.live.html import parts_of
from reports.sections import explored, pareto
from reports.sections.sure import write as in_short
from reports.testing import changed, made_record, make_study
from reports.words.commands import results_location
from reports.words.comparisons import SELECTION_BIAS
from reports.words.markdown import code
from search_spaces.goals import GOALS, Goal, searched
from study.callbacks.console import describe
from study.run import report
from tests.synthetic_results import add_finals, lifted, make_results
from trainables.files import write_whole
from trainables.recipe import Recipe

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python.md"
OWN = Goal("own", "relatedness (of SICK's development part)", ("SICKRelatedness",), "dev_spearman_cosine")
FIGURES = {
    # by row and seed: the own goal, STS, seconds; by each goal another recipe, and of it another seed, is the best
    (0, 0): (70.0, 50.0, 30.0),
    (0, 1): (72.0, 52.0, 40.0),
    (1, 0): (60.0, 62.0, 31.0),
    (1, 1): (50.0, 60.0, 32.0),
}


@pytest.fixture(autouse=True)
def own_goal() -> Iterator[None]:
    GOALS.add(OWN)
    yield
    GOALS.remove(OWN.name)


def study(folder: Path, goals: list[str], scored: bool) -> Results:
    """Two rows under two seeds, which kept their models; `scored`: STS too, and not the own goal alone."""
    made = make_study(folder)
    for row, label in enumerate(made.asked_rows):
        for record in made.of_row(label):
            own, sts, seconds = FIGURES[row, record.seed]
            scores: dict[str, dict[str, Any]] = {"SICKRelatedness": {OWN.number: own}}
            scores |= {"STSBenchmark": {"dev_spearman_cosine": sts}} if scored else {}
            place = f"models/{record.key}"
            (folder / place).mkdir(parents=True)
            (folder / place / "trial").write_text(record.key)
            Ledger(folder / LEDGER).write(changed(record, scores=scores, cost={"seconds": seconds}, checkpoint=place))
    dataclasses.replace(StudyInfo.load(folder), goals=goals, status_counts={"finished": len(FIGURES)}).save(folder)
    return Results.load(folder)


def printed_by_the_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What `best` of docs/python.md prints."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    page: dict[str, Any] = {"Path": Path}
    exec(compile(next(block for block in blocks if "def best(" in block), str(PAGE), "exec"), page)
    capsys.readouterr()
    page["best"](folder)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("goals", "scored", "row", "seed", "line", "mean"),
    [
        (["own"], False, 0, 1, "dev 72.00", ["71.00"]),
        (["own", "seconds"], False, 0, 1, "own 72.00, seconds 40.00", ["71.00", "35.00"]),
        (["seconds"], False, 1, 0, "seconds 31.00", ["31.50"]),
        ([], True, 1, 0, "dev 62.00", ["61.00"]),
        (["sts", "own"], True, 0, 1, "sts 52.00, own 72.00", ["51.00", "71.00"]),  # 61.00 is the better mean
        (["transfer", "own"], True, 0, 1, "transfer —, own 72.00", ["71.00"]),  # no trial has the first goal
    ],
)
def test_all_agree_on_the_best(
    goals: list[str],
    scored: bool,
    row: int,
    seed: int,
    line: str,
    mean: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = study(tmp_path, goals, scored)
    label = results.asked_rows[row]
    best = next(record for record in results.of_row(label) if record.seed == seed)
    assert Findings.of(results).best == best
    assert ranking(results)[0].recipe_hash == best.recipe_hash

    live = Folder(tmp_path).view()
    assert live.best[0].name == label
    assert [f"{score:.2f}" for score in live.best[0].scores] == mean
    page = parts_of(live, {})["best"]
    assert page.index(label) < page.index(results.asked_rows[1 - row])
    assert all(f">{score}<" in page for score in mean)

    assert line.replace(", ", "  ") in describe(best, searched(goals), ())
    monkeypatch.setattr("reports.report.write_unrecorded", lambda folder, formats: Results.load(folder))
    assert report(ResultsLocation(tmp_path))
    model = shlex.join(["python", "-m", "reports", "export", results_location(results.info), label])
    assert f"Model  {model}\n" in capsys.readouterr().out

    text = markdown(in_short(results, tmp_path / "pictures"))
    assert f"The model is row `{label}`, seed {seed}, for its " in text
    over_seeds = "61.00" if goals == ["sts", "own"] else mean[0]
    assert f"Over its 2 seeds the recipe has {over_seeds}." in text

    assert (export(tmp_path, label) / "trial").read_text() == best.key

    first, *_ = printed_by_the_page(tmp_path, capsys)
    assert first.startswith(f"{label} {', '.join(mean)} ")

    Ledger(tmp_path / LEDGER).write(dataclasses.replace(best, checkpoint=None))  # then the other seed has the model
    assert Findings.of(Results.load(tmp_path)).best == results.of_row(label)[1 - seed]


@pytest.mark.parametrize("row", [True, False])
@pytest.mark.parametrize("gain", [3.0, -0.5])
def test_export_takes_the_model_that_the_answer_speaks_of(row: bool, gain: float, tmp_path: Path) -> None:
    """The best of the fresh seeds, however lucky the search's was: of what is to be used, and of the base settings."""
    made = make_results(tmp_path, rows=["SBERT baseline"], explored=2, seeds=(0,))
    add_finals(tmp_path, (gain,), seeds=2, finalists=[made.row_hashes["SBERT baseline"]] if row else ())
    for record in Results.load(tmp_path).of_all_trials:
        lucky = lifted(record, 0.0 if is_fresh(record.seed) else 9.0, numbers=("dev",))
        Ledger(tmp_path / LEDGER).write(changed(lucky, checkpoint=f"models/{record.key}"))
        write_whole(tmp_path / "models" / record.key / "trial", record.key)
    results = Results.load(tmp_path)
    finalist = Answer.of(results).to_train
    assert finalist is not None
    assert finalist.recipe == (results.info.finals.finalists[0] if gain > 0 else results.base.hash)
    assert f"models/{(export(tmp_path, finalist.name) / 'trial').read_text()}" == finalist.model
    (card,) = (tmp_path / "export").glob("*/README.md")
    assert re.search(r"fresh seed [01]: of 2 seeds the one with the best development score", card.read_text())
    assert SELECTION_BIAS not in card.read_text()


def test_a_study_whose_goals_nothing_has_has_no_best(tmp_path: Path) -> None:
    results = study(tmp_path, ["transfer"], scored=False)
    assert ranking(results) == []
    assert Findings.of(results).best is None
    assert Folder(tmp_path).view().best == ()


def test_of_several_goals_the_best_is_on_the_front(tmp_path: Path) -> None:
    """Where the scores are equal, the cost decides."""
    results = study(tmp_path, ["own", "seconds"], scored=False)
    for label in results.asked_rows:
        for record in results.of_row(label):
            scores = {"SICKRelatedness": {OWN.number: 60.0}}
            Ledger(tmp_path / LEDGER).write(changed(record, scores=scores))
    equal = Results.load(tmp_path)
    assert [recipe.records[0].cost["seconds"] for recipe in ranking(equal)] == [31.0, 30.0]


RUNGS = {"rungs": [{"rung": 1, "step": 5, "seconds": 1.0, "tokens": 9, "scores": {"sts": 40.0}}]}
STOPPED = RUNGS | {"stopped": "stopped at rung 1"}


def explore(folder: Path, scores: dict[int, tuple[float | None, dict[str, Any]]], weight: float) -> str:
    """An explored recipe: by seed its score, None where it was stopped, and its training. Its hash."""
    info = StudyInfo.load(folder)
    recipe = Recipe.from_flat(info.base).override({"objective.weight": weight})
    for seed, (score, training) in scores.items():
        own = {} if score is None else {"STSBenchmark": {"dev_spearman_cosine": score}}
        status: Any = "finished" if score is not None else "pruned"
        record = made_record(dict(recipe.flat()), recipe.hash, seed, status, scores=own, protocol=info.scoring.protocol)
        Ledger(folder / LEDGER).write(dataclasses.replace(record, training=training, checkpoint=f"models/{record.key}"))
    dataclasses.replace(info, goals=["sts"], search="optuna", explored=[*info.explored, recipe.hash]).save(folder)
    return recipe.hash


def test_where_the_first_seed_decided_a_recipe_is_ranked_by_the_others(tmp_path: Path) -> None:
    """And one that a scheduler stopped under one seed is not ranked by those that it let go on, as older studies have
    them."""
    make_study(tmp_path)
    lucky = explore(tmp_path, {0: (90.0, RUNGS), 1: (60.0, {}), 2: (62.0, {})}, 0.11)
    steady = explore(tmp_path, {0: (70.0, RUNGS), 1: (69.0, {}), 2: (71.0, {})}, 0.12)
    alone = explore(tmp_path, {0: (65.0, RUNGS)}, 0.13)
    stopped = explore(tmp_path, {0: (None, STOPPED), 1: (95.0, RUNGS), 2: (None, STOPPED)}, 0.14)
    diverged = explore(tmp_path, {0: (58.0, RUNGS), 1: (57.5, {}), 2: (None, {"stopped": "diverged"})}, 0.15)
    results = Results.load(tmp_path)
    figures = {recipe.recipe_hash: (recipe.values[0].mean, recipe.values[0].seeds) for recipe in ranking(results)}
    assert [*figures][:4] == [steady, alone, lucky, diverged]
    assert (figures[steady], figures[alone], figures[lucky]) == ((70.0, 2), (65.0, 1), (61.0, 2))
    assert figures[diverged] == (57.5, 1)
    assert stopped not in figures
    fresh = [dataclasses.replace(record, seed=seed) for seed in fresh_seeds(1) for record in results.recipes[stopped]]
    assert (results.deciding(results.recipes[stopped]), results.deciding(fresh)) == ([], fresh)
    one_seed = dataclasses.replace(results, info=dataclasses.replace(results.info, seeds=[0]))
    assert next(each for each in ranking(one_seed) if each.recipe_hash == lucky).values[0].seeds == 3
    text = markdown(explored.write(results, tmp_path / "pictures"))
    assert "5 recipes beyond the space's rows: 4 finished, 1 stopped early" in text
    assert text.count("A recipe's first seed decided") == 1
    assert re.search(rf"{re.escape(code(name_of(results, lucky)))} +\| [^|]* \| +2 \| 61.00 ", text)
    assert f"the best explored recipe is {code(name_of(results, steady))} (70.00" in text
    both = dataclasses.replace(results, space=dataclasses.replace(results.space, goals=("sts", "seconds")))
    assert stopped not in markdown(pareto.write(both, tmp_path / "pictures"))


def test_of_equals_the_first_of_the_study_is_the_best(tmp_path: Path):
    """What recipes are called decides nothing."""
    made = make_study(tmp_path)
    for record in made.records:
        scores = {"STSBenchmark": {"dev_spearman_cosine": 60.0}}
        Ledger(tmp_path / LEDGER).write(changed(record, scores=scores))
    hashes = [*made.info.row_hashes.values()]
    for named in (hashes, hashes[::-1]):
        rows = dict(zip(made.info.row_hashes, named, strict=True))
        dataclasses.replace(made.info, row_hashes=rows).save(tmp_path)
        results = Results.load(tmp_path)
        assert [recipe.recipe_hash for recipe in ranking(results)] == named
        assert best_first(results, results.of_hash(named[0])[::-1])[0].seed == 0


def test_tf_idf_is_no_best_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = study(tmp_path, ["own"], scored=False)
    first, second = ranking(results)
    monkeypatch.setattr("reports.facts.best_model.TF_IDF", results.labels[first.recipe_hash])
    assert [each.recipe_hash for each in ranking(Results.load(tmp_path))] == [second.recipe_hash]
