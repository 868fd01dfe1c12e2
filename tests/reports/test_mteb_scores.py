"""Scores by the package `mteb`: which models, what is kept, what the report shows; and a study that ends in them."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from torch import nn

import study.engine.launch
import study.run
from reports.__main__ import main
from reports.document import markdown
from reports.facts.results import Results
from reports.ledger import LEDGER, Ledger
from reports.mteb_scores import FOLDER
from reports.sections import SECTIONS
from reports.testing import make_study
from study import Study
from study.cli.options import parse
from trainables.errors import UserError

PARTS = [{"main_score": 0.5}, {"main_score": 0.75}]


class Model(nn.Module):
    """As much of a SentenceTransformer as its metadata need."""

    max_length, similarity_fn_name, prompts = 32, "cosine", {"query": "", "document": ""}

    def __init__(self, place: str, trust_remote_code: bool) -> None:
        super().__init__()
        assert not trust_remote_code
        self.place, self.words, self.layer = place, nn.Embedding(10, 4), nn.Linear(4, 3)

    def get_max_seq_length(self) -> int:
        return self.max_length

    def get_embedding_dimension(self) -> int:
        return 3


class Package(SimpleNamespace):
    """As much of `mteb` as is asked: one task, a benchmark of two, and data that cannot be had."""

    __version__ = "0"

    def __init__(self) -> None:
        super().__init__(scored=[])

    def get_benchmarks(self) -> list[Any]:
        return [SimpleNamespace(name="Both")]

    def get_tasks(self) -> list[Any]:
        return [self.get_task(name) for name in ("One", "Two", "Away")]

    def get_benchmark(self, name: str) -> Any:
        if name != "Both":
            raise KeyError(name)
        return SimpleNamespace(tasks=[self.get_task("One"), self.get_task("Two")])

    def get_task(self, name: str) -> Any:
        if name not in ("One", "Two", "Away"):
            raise KeyError(name)
        return SimpleNamespace(metadata=SimpleNamespace(name=name))

    def evaluate(self, model: Model, task: Any, **options: Any) -> Any:
        if task.metadata.name == "Away":
            raise ConnectionError("no network")
        self.scored.append((Path(model.place).name, task.metadata.name))
        result = {"task_name": task.metadata.name, "scores": {"validation": PARTS[:1], "test": PARTS}}
        return SimpleNamespace(task_results=[SimpleNamespace(model_dump_json=lambda indent: json.dumps(result))])


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Package:
    fake = Package()
    find_spec: Callable[..., Any] = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: name == "mteb" or find_spec(name, *rest))
    monkeypatch.setitem(sys.modules, "mteb", fake)
    monkeypatch.setattr("sentence_transformers.SentenceTransformer", Model)
    return fake


@pytest.fixture
def made(tmp_path: Path) -> Results:
    """Two trials of one row kept their models, and one of another whose folder is gone."""
    results = make_study(tmp_path / "results")
    records = Ledger(results.folder / LEDGER).read()
    first = [trial for trial in records if trial.recipe_hash == records[0].recipe_hash]
    for record in [*first[:2], next(trial for trial in records if trial.recipe_hash != records[0].recipe_hash)]:
        Ledger(results.folder / LEDGER).write(dataclasses.replace(record, checkpoint=f"models/{record.key}"))
    for record in first[:2]:
        (results.folder / "models" / record.key).mkdir(parents=True)
    return Results.load(results.folder)


def test_one_model_of_a_recipe_is_scored_once(
    package: Package, made: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    section = SECTIONS["mteb"]
    assert not section.written(made, tmp_path).blocks
    main(["mteb", str(made.folder), "One"])
    output = capsys.readouterr().out
    main(["mteb", str(made.folder), "Both"])
    model = package.scored[0][0]
    assert package.scored == [(model, "One"), (model, "Two")]  # what is there is not scored again
    assert [file.name for file in sorted((made.folder / FOLDER / model).iterdir())] == [
        "One.json",
        "Two.json",
        "model_meta.json",
    ]
    meta = json.loads((made.folder / FOLDER / model / "model_meta.json").read_text())
    assert (meta["n_parameters"], meta["n_embedding_parameters"], meta["embed_dim"]) == (55, 40, 3)
    assert (meta["max_tokens"], meta["use_instructions"], meta["name"], meta["license"]) == (32, False, None, None)
    name = made.labels[model.partition("-")[0]]
    assert output == f"{name}: One 62.50\n"  # the mean over the test part, not the validation part
    assert [line.split() for line in markdown(section.written(made, tmp_path).blocks).splitlines()[:3:2]] == [
        ["|", "model", "|", "One", "|", "Two", "|"],
        ["|", *f"`{name}`".split(), "|", "62.50", "|", "62.50", "|"],
    ]


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        ("Bot", "no task and no benchmark 'Bot'; did you mean 'Both'"),
        ("Away", "data of MTEB's task Away cannot be had"),
    ],
)
def test_what_cannot_be_scored_is_said(package: Package, made: Results, task: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        main(["mteb", str(made.folder), task])
    assert not (made.folder / FOLDER).exists()


def test_without_a_kept_model_it_says_what_to_do(package: Package, tmp_path: Path) -> None:
    folder = str(make_study(tmp_path / "results").folder)
    with pytest.raises(UserError, match="--keep-models all"):
        main(["mteb", folder, "One"])


@pytest.mark.parametrize("tasks", [["--mteb", "One,Both"], ["--mteb", "One", "--mteb", "Both"]])
def test_a_study_has_its_models_scored_before_it_reports(
    tasks: list[str], package: Package, made: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ended(made, monkeypatch)
    before = signal.getsignal(signal.SIGTERM)
    assert study.run.main([*arguments, *tasks]) == 0
    assert signal.getsignal(signal.SIGTERM) is before  # whoever calls it can still be told to end
    assert [task for _, task in package.scored] == ["One", "Two"]
    assert "62.50" in (made.folder / "report.md").read_text().partition("package `mteb`")[0]


def test_a_study_reports_though_a_task_cannot_be_scored(
    package: Package, made: Results, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ended(made, monkeypatch)
    assert study.run.main([*arguments, "--mteb", "Away"]) == 1
    assert "warning: the data of MTEB's task Away cannot be had here: no network" in capsys.readouterr().err
    assert (made.folder / "report.md").is_file()


def test_a_study_asked_for_what_mteb_does_not_know_does_not_begin(
    package: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--space", "scl_ablation", "--scale", "laptop", "--results", str(tmp_path / "new")]
    monkeypatch.setattr(study.engine.launch, "run_study", lambda *rest: pytest.fail("it began"))
    with pytest.raises(UserError, match="no task and no benchmark 'Thre'"):
        study.run.main([*arguments, "--mteb", "One,Thre"])
    with pytest.raises(UserError, match="leave --keep-models none out"):
        study.run.main([*arguments, "--mteb", "One", "--keep-models", "none"])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None)
    with pytest.raises(UserError, match=r"pip install 'sentence-embedding-studies\[mteb\]'"):
        study.run.main([*arguments, "--mteb", "One"])
    assert not (tmp_path / "new").exists()


def test_names_of_benchmarks_may_hold_commas() -> None:
    request = parse(["--space", "x", "--mteb", "STS12, MTEB(eng, v2),NFCorpus", "--mteb", "MIEB(lite)"])
    assert request.mteb == ("STS12", "MTEB(eng, v2)", "NFCorpus", "MIEB(lite)")
    assert Study(space="x", mteb=["STS12", "MTEB(eng, v2)"], results="r").request().mteb == ("STS12", "MTEB(eng, v2)")


def ended(made: Results, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command of a study whose trials are all there."""
    monkeypatch.setattr(study.engine.launch, "run_study", lambda *rest: 0)
    monkeypatch.setattr("reports.report.in_order", lambda: [SECTIONS["mteb"]])
    info = dataclasses.replace(made.info, status_counts={"finished": len(made.of_all_trials)})
    info.save(made.folder)
    rows = [word for label in made.labels.values() for word in ("--only", label)]
    return ["--space", "scl_ablation", "--scale", "laptop", "--results", str(made.folder), *rows]
