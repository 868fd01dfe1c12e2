"""A study from Python: its arguments are the command line's, and what came out is read from its folder."""

from __future__ import annotations

import dataclasses
import html
import json
import shutil
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import optuna
import pandas as pd
import pytest

from reports.ledger.folders import JOURNAL
from search_spaces.own_data import TF_IDF
from study import Outcome, Study
from study.cli.options import parse
from trainables.errors import UserError

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
PAIRS = [{"anchor": "a dog", "positive": "an animal"}, {"anchor": "a car", "positive": "a vehicle"}]


def test_options_are_those_of_the_command_line() -> None:
    study = Study(space="scl_tau", search="optuna", trials=5, set={"optimisation.max_steps": 3}, only=["a", "b"])
    line = "--space scl_tau --search optuna --trials 5 --set optimisation.max_steps=3 --only a --only b --dry-run"
    assert study.request(dry_run=True, list=False) == parse([*line.split(), "--results", "results/scl_tau"])


@pytest.mark.parametrize(
    "data",
    [
        PAIRS,
        [tuple(row.values()) for row in PAIRS],
        pd.DataFrame(PAIRS),
        datasets.Dataset.from_list(PAIRS),
    ],
    ids=["rows", "tuples", "frame", "dataset"],
)
def test_data_at_hand_are_written_and_read_as_files(data: Any, tmp_path: Path) -> None:
    study = Study(train=data, encoder="scenes-small", test={"faq": data}, dev="my.csv", results=tmp_path / "mine")
    request = study.request()
    (train,) = request.train
    assert [json.loads(line) for line in Path(train).read_text().splitlines()] == PAIRS
    assert request.test == (f"faq={tmp_path}/mine-given/test_faq.jsonl",)
    assert (request.dev, request.encoder) == (("my.csv",), ("scenes-small",))
    assert not (tmp_path / "mine").exists()


def test_numbers_and_gaps_of_a_frame_are_plain(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sentence1": ["a", "b"], "sentence2": ["c", None], "score": [1, 2]})
    frame["seen"] = [pd.Timestamp("2024-05-01"), None]
    (train,) = Study(train=frame, encoder="e", results=tmp_path / "x").request().train
    assert [json.loads(line) for line in Path(train).read_text().splitlines()] == [
        {"sentence1": "a", "sentence2": "c", "score": 1, "seen": "2024-05-01 00:00:00"},
        {"sentence1": "b", "sentence2": None, "score": 2, "seen": None},
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([("a", "b"), (1, 2)], "train, row 2: tuple is no row; give a mapping"),
        (datasets.DatasetDict(train=datasets.Dataset.from_list(PAIRS)), r'train is a mapping, .* data\["train"\]'),
    ],
    ids=["tuple", "mapping"],
)
def test_what_is_no_row_is_said(data: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        Study(train=data, encoder="e", results=tmp_path / "x").request()


def test_arrays_and_plain_sentences_are_data_and_nothing_is_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"anchor": ["a"], "positive": ["b"], "negative": [np.array(["c", "d"])]})
    for data, rows in (
        (frame, [{"anchor": "a", "positive": "b", "negative": ["c", "d"]}]),
        (["a dog runs", "it rains"], [{"sentence": "a dog runs"}, {"sentence": "it rains"}]),
    ):
        (train,) = Study(train=data, encoder="e", results=tmp_path / "x").request().train
        assert [json.loads(line) for line in Path(train).read_text().splitlines()] == rows
    with pytest.raises(UserError, match="train is empty; give data or a path"):
        Study(train=[], encoder="e", results=tmp_path / "x").request()


@pytest.mark.usefixtures("own_spaces")
def test_three_lines_are_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is its first screen, in a terminal and in a notebook, and a table has what the finals compare."""
    folder = tmp_path / "own_labels"
    shutil.copytree(EXAMPLES / "own_labels", folder)
    commands = list[str]()
    monkeypatch.setattr("study.from_python.run", lambda request: commands.append(request.command))
    outcome = Study(train="labelled.csv", encoder="e", minutes=60, results=folder).run()
    assert "--limit minutes=60" in commands[0]
    first = (folder / "report.md").read_text().split("- **Keep:** ")[1].partition("\n")[0]
    assert repr(outcome).splitlines()[0] == f"Keep   {first}"
    table = outcome.table()
    assert [*table["recipe"]] == ["base settings", "original encoder", TF_IDF]
    assert table["over encoder"][0] == pytest.approx(4.28, abs=1e-3)
    assert table["over baseline"][1] == pytest.approx(4.2, abs=1e-3)
    assert "4.28" in repr(outcome)
    shown = outcome._repr_html_()
    assert shown.startswith("<pre>Keep")
    assert shown.count("<svg") == 1
    titles = ["".join(words.get_text().split()) for words in outcome.figure().axes[0].texts]
    assert [title.partition(",over")[2] for title in titles] == ["theoriginalencoder", "".join(TF_IDF.split())]
    kept = dataclasses.replace(outcome.answer, kind="as it came")
    monkeypatch.setattr(Outcome, "answer", kept)
    with pytest.raises(UserError, match="the answer is to keep the original encoder, so no model was made"):
        outcome.model()
    begun = dataclasses.replace(outcome.answer, kind="open", whole=0, references={})
    monkeypatch.setattr(Outcome, "answer", begun)
    with pytest.raises(UserError, match="nothing was trained on all of the data yet; let the study run on"):
        outcome.model()
    with pytest.raises(UserError, match="holds no gain yet; let the study run on"):
        outcome.figure()


def test_a_dry_run_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = Study(space="scl_tau", scale="laptop", results=tmp_path / "mine")
    study.run(dry_run=True)
    assert "estimate:" in capsys.readouterr().out
    assert not (tmp_path / "mine").exists()


def test_what_came_out(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    shutil.copytree(EXAMPLES / "scl_ablation", folder)
    outcome = Outcome(folder)
    trials = outcome.trials
    assert len(trials) == len([*(folder / "ledger").iterdir()])
    assert outcome.best_recipe.hash in {*trials["recipe_hash"]}
    assert outcome.report.is_file()
    assert outcome.answer.kind in ("rows", "use", "base", "open")
    table = outcome.table()
    assert table["recipe"][0] == "3palln-lambda0.5-SCL"
    assert {"seeds", "score", "gain", "gain, low", "gain, high"} <= {*table.columns}
    figure = outcome.figure()
    figure.savefig(tmp_path / "gains.pdf")
    assert figure._repr_svg_().count("<svg") == 1
    shown = outcome._repr_html_()
    assert html.escape(repr(outcome)) in shown
    assert shown.count("<svg") == 1
    with pytest.raises(UserError, match="holds no search by Optuna"):
        outcome.optuna  # noqa: B018
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(folder / JOURNAL)))
    optuna.create_study(study_name=outcome._read.info.space, storage=storage).enqueue_trial({"x": 1})
    assert len(outcome.optuna.trials) == 1
    with pytest.raises(UserError, match="holds no model of its best recipe"):
        outcome.model()


@pytest.mark.slow  # through Ray
def test_a_study_of_ones_own_pairs_from_end_to_end(tmp_path: Path) -> None:
    nouns = ["dog", "cat", "horse", "train", "river", "child", "baker", "tower", "ship", "cloud", "piano", "garden"]
    renamed = dict(zip(nouns, nouns[5:] + nouns[:5], strict=True))  # which training has to teach
    pairs = [(f"a {a} near the {b}", f"the {renamed[b]} beside a {renamed[a]}") for a in nouns for b in nouns]
    data = {"train": pairs[39:], "dev": pairs[:20], "test": pairs[20:40]}
    study = Study(**data, encoder="scenes-small", results=tmp_path / "mine")
    options = {"trials": 1, "finals": "1x2", "set": {"optimisation.epochs": 4}}
    outcome = study.run(minutes=5, **options)
    assert len(outcome.trials) > 3
    assert len(outcome.optuna.trials) > 0
    assert outcome.model().encode(["a dog"]).shape[0] == 1
    assert outcome.report.is_file()
    before = len(outcome.trials)
    again = study.run(minutes=5, learning_curve=True, **options)  # of 105 pairs an eighth makes no batch of 16
    data = again.answer.data
    assert [(part.share, part.rows) for part in data.parts] == [("1/8", None), ("1/4", 26), ("1/2", 52), ("all", 105)]
    assert data.parts[-1].gain is not None
    assert len(again.trials) == before + 2 * 2
    assert "## Would more data help?" in again.report.read_text()
    assert "leaks: 1 training row with a whole item" in outcome.report.read_text()
