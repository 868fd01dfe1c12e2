"""A goal of one's own is a goal everywhere: a recipe is planted that is the best by an own task and worse by STS, and
every place that names a best one, or a figure, must name that one, and the task's own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from reports.answer import Answer
from reports.ledger import LEDGER, Ledger, Record, StudyInfo
from reports.results import Results
from reports.testing import changed
from tests.synthetic_results import add_finals, make_results
from trainables.senteval.tasks import TASKS, Task

FINALISTS = 3


@pytest.fixture
def own_task(tmp_path: Path) -> Iterator[Task]:
    """Two classes, whose files are there."""
    lines = [f"{('calm', 'loud')[number % 2]} word {number}\t{number % 2}\n" for number in range(20)]
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.tsv").write_text("sentence\tlabel\n" + "".join(lines), "utf-8")
    task = Task("mine", "split", "table", tuple(str(tmp_path / f"{part}.tsv") for part in ("train", "dev", "test")))
    TASKS.add(task)
    yield task
    TASKS.remove("mine")


@pytest.fixture
def planted(own_task: Task, tmp_path: Path) -> Results:
    """Of six explored recipes the last finalist is the best by `mine`, by 2 points in the finals, and by all else
    it is the worst, by 6 points."""
    folder = tmp_path / "study"
    make_results(folder, rows=["SBERT baseline"], explored=6, seeds=(0,))
    dataclasses.replace(StudyInfo.load(folder), goals=["mine"]).save(folder)
    names = Results.load(folder).explored[:FINALISTS]
    add_finals(folder, (3.0, 1.0, -3.0))
    ledger = Ledger(folder / LEDGER)
    for record in ledger.read():
        ledger.write(_with_own(record, names))
    return Results.load(folder)


def _with_own(record: Record, finalists: list[str]) -> Record:
    """The record with scores of `mine`, the higher the later the finalist; and by STS the last one is the worst."""
    gain = 2.0 * finalists.index(record.recipe_hash) if record.recipe_hash in finalists else -2.0
    luck = 0.2 * (record.seed % 3)
    scores = {task: dict(numbers) for task, numbers in record.scores.items()}
    scores["mine"] = {"dev_accuracy": 70 + gain + luck, "test_accuracy": 66 + gain - luck, "examples": [20, 20]}
    scores["STSBenchmark"]["dev_spearman_cosine"] = 70 - 3 * gain
    return changed(record, scores=scores)


def test_the_answer_is_judged_by_its_own_test(planted: Results) -> None:
    best = planted.explored[FINALISTS - 1]
    answer = Answer.of(planted)
    assert [one.recipe for one in answer.picked] == [best]
    assert answer.kind == "use"
    assert answer.figure == "mine"
    assert answer.picked[0].gains["base"].gain == pytest.approx(6.0, abs=0.1)
    assert answer.picked[0].figure is not None
    assert answer.picked[0].figure.gain == pytest.approx(70.0, abs=0.3)
