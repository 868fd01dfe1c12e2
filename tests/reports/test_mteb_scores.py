"""Scores by the package `mteb`: which models, what is kept, what the report shows."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reports.__main__ import main
from reports.ledger import LEDGER, Ledger
from reports.mteb_scores import FOLDER
from reports.results import Results
from reports.sections import SECTIONS
from reports.testing import make_study
from trainables.errors import UserError

PARTS = [{"main_score": 0.5}, {"main_score": 0.75}]


class Package(SimpleNamespace):
    """As much of `mteb` as is asked: one task, a benchmark of two, and data that cannot be had."""

    __version__ = "0"

    def __init__(self) -> None:
        super().__init__(scored=[])

    def get_benchmarks(self) -> list[Any]:
        return [SimpleNamespace(name="Both")]

    def get_benchmark(self, name: str) -> Any:
        return SimpleNamespace(tasks=[self.get_task("One"), self.get_task("Two")])

    def get_task(self, name: str) -> Any:
        if name not in ("One", "Two", "Away"):
            raise KeyError(name)
        return SimpleNamespace(metadata=SimpleNamespace(name=name))

    def evaluate(self, model: str, task: Any, **options: Any) -> Any:
        if task.metadata.name == "Away":
            raise ConnectionError("no network")
        self.scored.append((Path(model).name, task.metadata.name))
        said = {"task_name": task.metadata.name, "scores": {"validation": PARTS[:1], "test": PARTS}}
        return SimpleNamespace(task_results=[SimpleNamespace(model_dump_json=lambda indent: json.dumps(said))])


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Package:
    made = Package()
    find_spec: Callable[..., Any] = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: name == "mteb" or find_spec(name, *rest))
    monkeypatch.setitem(sys.modules, "mteb", made)
    monkeypatch.setattr("sentence_transformers.SentenceTransformer", lambda place, trust_remote_code: place)
    return made


@pytest.fixture
def study(tmp_path: Path) -> Results:
    """Two trials of one row kept their models, and one of another whose folder is gone."""
    results = make_study(tmp_path / "results")
    records = Ledger(results.folder / LEDGER).read()
    first = [one for one in records if one.recipe_hash == records[0].recipe_hash]
    for record in [*first[:2], next(one for one in records if one.recipe_hash != records[0].recipe_hash)]:
        Ledger(results.folder / LEDGER).write(dataclasses.replace(record, checkpoint=f"models/{record.key}"))
    for record in first[:2]:
        (results.folder / "models" / record.key).mkdir(parents=True)
    return Results.load(results.folder)


def test_one_model_of_a_recipe_is_scored_once(
    package: Package, study: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    section = SECTIONS["mteb"]
    assert not section.content(study, tmp_path)
    main(["mteb", str(study.folder), "One"])
    said = capsys.readouterr().out
    main(["mteb", str(study.folder), "Both"])
    model = package.scored[0][0]
    assert package.scored == [(model, "One"), (model, "Two")]  # what is there is not scored again
    assert [file.name for file in sorted((study.folder / FOLDER / model).iterdir())] == ["One.json", "Two.json"]
    name = study.labels[model.partition("-")[0]]
    assert said == f"{name}: One 62.50\n"  # the mean over the test part, not the validation part
    assert [line.split() for line in section.content(study, tmp_path).splitlines()[:3:2]] == [
        ["|", "model", "|", "One", "|", "Two", "|"],
        ["|", *f"`{name}`".split(), "|", "62.50", "|", "62.50", "|"],
    ]


@pytest.mark.parametrize(
    ("task", "said"),
    [("Three", "no task and no benchmark 'Three'"), ("Away", "data of MTEB's task Away cannot be had")],
)
def test_what_cannot_be_scored_is_said(package: Package, study: Results, task: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        main(["mteb", str(study.folder), task])
    assert not (study.folder / FOLDER).exists()


def test_without_a_kept_model_or_the_package_it_says_what_to_do(
    package: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(make_study(tmp_path / "results").folder)
    with pytest.raises(UserError, match="--keep-models all"):
        main(["mteb", folder, "One"])
    monkeypatch.undo()
    if importlib.util.find_spec("mteb") is None:
        with pytest.raises(UserError, match=r"\[mteb\]"):
            main(["mteb", folder, "One"])
