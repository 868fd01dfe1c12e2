"""A kind of task from one plugin file: scored, compared over its items, checked, and looked for by a search."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.check import check
from reports.facts.evidence import Evidence
from reports.facts.quantity import Quantity
from reports.facts.results import Results
from reports.ledger import LEDGER, Ledger, Record
from reports.report import write_report
from reports.testing import changed, make_study
from search_spaces.goals import Goal
from tests.contributing import PLUGINS, added_lines
from trainables.errors import UserError
from trainables.plugins import load_plugin
from trainables.senteval import development, evaluate, logistic
from trainables.senteval.evaluation import Encode, SentEvalResult
from trainables.senteval.file_layouts import FILE_LAYOUTS, FileLayout
from trainables.senteval.kinds import KINDS, TaskKind
from trainables.senteval.own_tasks import own_tasks
from trainables.senteval.tasks import TASKS, Task
from trainables.testing.tasks import FileLayoutContract, TaskContract, TaskKindContract, bag_of_words

PLUGIN = PLUGINS["my_kind.py"]
PAIRS = {"dev.txt": 30, "test.txt": 60}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder with the plugin, which is loaded, and with its data."""
    folder = tmp_path_factory.mktemp("own_kind")
    random = np.random.default_rng(0)
    for file, count in PAIRS.items():
        lines = []
        for number in range(count):
            words = random.integers(0, 200, 8)
            shared = 6 if number % 2 else int(random.integers(2, 6))
            other = [*words[:shared], *random.integers(200, 400, 8 - shared)]
            lines.append(f"{' '.join(f'w{w}' for w in words)}|{' '.join(f'w{w}' for w in other)}|{number % 2}")
        (folder / file).write_text("\n".join(lines) + "\n")
    (folder / "agreement.py").write_text(PLUGIN)
    load_plugin(folder / "agreement.py")
    yield folder
    TASKS.remove("alike")
    FILE_LAYOUTS.remove("bars")
    KINDS.remove("agreement")


@pytest.fixture
def task(data: Path) -> Task:
    return TASKS["alike"]


def noisy(seed: int, noise: float) -> Encode:
    """An encoder that knows words, less well the more noise there is."""

    def encode(texts: Sequence[str]) -> np.ndarray:
        embeddings = bag_of_words(texts)
        return embeddings + noise * np.random.default_rng(seed).normal(size=embeddings.shape).astype(np.float32)

    return encode


@functools.cache
def scores(seed: int, noise: float, data: Path, tasks: tuple[str, ...]) -> SentEvalResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logistic, "PENALTIES", logistic.PENALTIES[2:3])  # to choose among five takes most of the time
        return evaluate(noisy(seed, noise), data, tasks, "fast")


@pytest.fixture(scope="module")
def built_in() -> Iterator[list[Task]]:
    """A task of every kind that takes a person's files, one without a development part, one without a test part."""
    names = [f"scenes:{kind.name}" for kind in KINDS.values() if kind.scenes]
    tasks = [*own_tasks(names, names), *own_tasks(["no_test=scenes:search"], ["no_dev=scenes:clustering"])]
    TASKS.add(*tasks)
    yield tasks
    for task in tasks:
        TASKS.remove(task.name)


@pytest.fixture
def study(data: Path, built_in: list[Task], tmp_path: Path) -> Results:
    """Two rows under two seeds, which have scored the task of the plugin and built-in ones, too; the second row is the
    worse."""
    results = make_study(tmp_path / "study")
    for place, record in enumerate(results.records):
        noise = 0.05 if record in results.of_row(results.asked_rows[0]) else 0.6
        scored = scores(place, noise, data, ("alike", *(task.name for task in built_in)))
        path = results.folder / record.predictions[0]
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        np.savez(path, **arrays, **scored.kept)  # type: ignore[arg-type]
        write(results, record, {**record.scores, **scored.tasks})
    return Results.load(results.folder)


def write(results: Results, record: Record, scores: dict[str, dict[str, Any]]) -> None:
    Ledger(results.folder / LEDGER).write(changed(record, scores=scores))


class TestItsKind(TaskKindContract):
    @pytest.fixture
    def kind(self, data: Path) -> TaskKind:
        return KINDS["agreement"]


class TestItsTask(TaskContract):
    pass


class TestItsFileLayout(FileLayoutContract):
    @pytest.fixture
    def layout(self, data: Path) -> FileLayout:
        return FILE_LAYOUTS["bars"]


@pytest.fixture(scope="module")
def guide() -> Iterator[TaskKind]:
    """The kind that the diff in CONTRIBUTING.md adds: its file and its row are all that it needs."""
    added, names = added_lines(), dict[str, Any]()
    exec(added["trainables/senteval/kinds/distances.py"], names)
    _, row = added["trainables/senteval/kinds/__init__.py"].splitlines()
    KINDS.add(eval(row.strip(" ,"), names))
    (task,) = own_tasks(["scenes:distances"], ["scenes:distances"])
    TASKS.add(task)
    yield KINDS["distances"]
    TASKS.remove(task.name)
    KINDS.remove("distances")


class TestTheKindOfTheGuide(TaskKindContract):
    @pytest.fixture
    def kind(self, guide: TaskKind) -> TaskKind:
        return guide

    @pytest.fixture
    def task(self, guide: TaskKind) -> Task:
        return TASKS["distances"]


def test_a_search_looks_for_its_development_number(data: Path) -> None:
    goal = Goal("alike", "alike", ("alike",))
    scores = evaluate(bag_of_words, data, ["alike"]).tasks
    assert goal.number == "dev_agreement"
    assert (
        goal.of(scores, {}) == scores["alike"]["dev_agreement"] == development(bag_of_words, data, ["alike"])["score"]
    )
    with pytest.raises(UserError, match="goal 'both': alike, MR have no development number in common; name one"):
        Goal("both", "both", ("alike", "MR"))
    with pytest.raises(UserError, match="goal 'sts12': STS12 have no development number in common"):
        Goal("sts12", "sts12", ("STS12",))


def test_rows_are_compared_with_its_items(study: Results, built_in: list[Task]) -> None:
    evidence = Evidence.of(study)
    first, second = (study.info.row_hashes[label] or "" for label in study.asked_rows)
    numbers = {"alike": ("test_agreement", "test_margin", "dev_agreement")} | {
        each.name: each.numbers for each in built_in
    }
    for task, number in ((task, number) for task, names in numbers.items() for number in names):
        comparison = evidence.compare(first, second, Quantity(number, {(task, number): 1.0}))
        assert comparison is not None, (task, number)
        assert comparison.basis == "seeds and items", (task, number)
        assert comparison.gain > 0 or task != "alike", (task, number)
        assert comparison.low is not None
        assert comparison.items_variance is not None
        assert comparison.items_variance > 0


def test_the_report_shows_its_number(study: Results, built_in: list[Task]) -> None:
    report = write_report(study.folder).read_text(encoding="utf-8")
    further = report.split("## Further tasks")[1]
    for name, metric in (("alike", "test_agreement"), *((task.name, task.metric) for task in built_in)):
        assert f"- {name}: `{metric}`" in further
    assert "one of the two was changed" not in report


@pytest.mark.slow
def test_check_finds_wrong_numbers(study: Results) -> None:
    write_report(study.folder)
    assert check(study.folder) == []
    record = study.records[0]
    wrong = {name: record.scores["alike"][name] + 0.5 for name in KINDS["agreement"].reported}
    write(study, record, {**record.scores, "alike": {**record.scores["alike"], **wrong}})
    problems = [problem for problem in check(study.folder) if "in the ledger" in problem]
    for name, value in wrong.items():
        message = f"{name} of alike is {value:.4f} in the ledger, but its predictions give {value - 0.5:.4f}."
        assert any(problem.endswith(message) for problem in problems), name
    report = write_report(study.folder).read_text(encoding="utf-8")
    assert "alike" in report.split("one of the two was changed")[0].splitlines()[-1]
