"""The ledger: what is written comes back, half-written files do no harm, broken ones are named."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import os
import string
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.formats.trials_csv import write_trials_csv
from reports.ledger import Finals, Ledger, Record, StudyInfo, split_key, trial_key
from reports.ledger.own_code import trust_folder
from reports.ledger.record import read_record
from reports.testing import changed, made_record
from trainables.errors import UserError
from trainables.recipe import Recipe

numbers = st.one_of(st.none(), st.integers(0, 10**9), st.floats(0, 1e9))
names = st.text(string.ascii_letters + string.digits + "_-. é", min_size=1, max_size=8)
figures = st.dictionaries(names.map(lambda name: f"my {name}"), numbers, max_size=3)
shares = st.dictionaries(names.map(lambda name: f"my {name}"), st.one_of(st.none(), st.floats(0, 100)), max_size=3)
places = st.one_of(st.none(), st.text(string.ascii_letters + "_-", min_size=1, max_size=8))


def recipe_of(temperature: float, positives: int | None) -> Recipe:
    return Recipe().preferring({"objective.temperature": temperature, "objective.positives": positives})


records = st.builds(
    lambda recipe, **parts: made_record(dict(recipe.flat()), recipe.hash, **parts),
    recipe=st.builds(recipe_of, st.floats(0.01, 5), st.one_of(st.none(), st.integers(1, 9))),
    seed=st.integers(0, 10**6),
    status=st.sampled_from(["finished", "pruned"]),
    scores=st.dictionaries(names, shares, max_size=3),
    geometry=figures,
    training=figures,
    cost=figures,
    versions=st.dictionaries(names, names, max_size=2),
    hardware=names,
    data=st.dictionaries(names.map(lambda name: f"my {name}"), figures, max_size=2),
    checkpoint=places,
    predictions=places,
    finished_at=st.just("2026-01-01T00:00:00Z"),
)
HASH = Recipe().hash


def record(**changes: object) -> Record:
    base = made_record(recipe=dict(Recipe().flat()), recipe_hash=HASH, seed=1, scores={"MR": {"test_accuracy": 60.0}})
    return changed(base, **changes)


@given(st.lists(records, max_size=4, unique_by=lambda r: (r.recipe_hash, r.seed)))
def test_round_trip(written: list[Record]):
    with TemporaryDirectory() as folder:
        ledger = Ledger(folder)
        for item in written:
            ledger.write(item)
        assert ledger.read() == sorted(written, key=lambda r: (r.recipe_hash, r.seed))
        for item in written:
            assert ledger.has(item.recipe_hash, item.seed)
            assert ledger.get(item.recipe_hash, item.seed) == item


@given(cut=st.floats(0, 1), item=records)
def test_an_interrupted_write_leaves_the_old_record(cut: float, item: Record):
    """A crash between any two bytes leaves a `.tmp` file, which nobody reads."""
    with TemporaryDirectory() as folder:
        ledger = Ledger(folder)
        path = ledger.write(item)
        whole = path.read_text()
        path.with_name(path.name + ".dead.tmp").write_text(whole[: int(cut * len(whole))])
        assert ledger.read() == [item]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failing_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str):
    ledger = Ledger(tmp_path)
    ledger.write(record(hardware="old"))

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="disk full"):
        ledger.write(record(hardware="new"))
    monkeypatch.undo()
    assert ledger.read() == [record(hardware="old")]
    assert os.listdir(tmp_path) == [f"{HASH}-1.json"]


def test_numbers_that_are_none(tmp_path: Path):
    import numpy as np

    ledger = Ledger(tmp_path)
    path = ledger.write(
        record(scores={"MR": {"a": math.nan, "b": np.float32(0.5), "c": np.float64("inf"), "examples": (1, 2)}})
    )
    assert ledger.read()[0].scores["MR"] == {"a": None, "b": 0.5, "c": None, "examples": [1, 2]}
    assert "NaN" not in path.read_text()
    with pytest.raises(TypeError, match="JSON values only"):
        ledger.write(record(cost={"x": object()}))


def test_unknown_and_missing_entries_still_load(tmp_path: Path):
    ledger = Ledger(tmp_path)
    path = ledger.write(record())
    content = json.loads(path.read_text())
    del content["evaluations"][0]["predictions"], content["hardware"]
    path.write_text(json.dumps(content | {"from_the_future": 1}))
    assert ledger.read() == [record()]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is not a record"),
        ("[1]", "no JSON object"),
        ("{}", "has the schema None, and this version reads 2; run the study anew, into another folder"),
        ('{"schema": 2}', "recipe is missing"),
        ('{"schema": 99}', "has the schema 99, and this version reads 2; take a newer version"),
        ('{"recipe": {}, "recipe_hash": "aa", "seed": 1}', "holds the trial aa-1"),
        ('{"recipe": [], "recipe_hash": "0123456789ab", "seed": 1}', "recipe must be an object, not []"),
        ('{"recipe": {}, "recipe_hash": "0123456789ab", "seed": 1, "status": "odd"}', "or 'pruned', not 'odd'"),
        (
            '{"recipe": {}, "recipe_hash": "0123456789ab", "seed": 1, '
            '"evaluations": [{"protocol": "full", "scores": {"MR": 1}}]}',
            "evaluations[0].scores.MR must be an obj",
        ),
    ],
)
def test_a_broken_record_is_named_and_not_done(tmp_path: Path, text: str, sentence: str):
    """A study runs its trial again; the new record takes its place."""
    path = tmp_path / "0123456789ab-1.json"
    path.write_text(text.replace('{"recipe"', '{"schema": 2, "recipe"'))
    ledger = Ledger(tmp_path)
    records, set_aside = ledger.sift()
    assert records == ledger.read() == []
    assert not ledger.has("0123456789ab", 1)
    assert sentence in set_aside[path.name]
    with pytest.raises(UserError) as caught:
        read_record(path)
    assert str(path) in str(caught.value)
    assert sentence in str(caught.value)


def test_other_files_are_passed_over(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".DS_Store").write_text("")
    assert Ledger(tmp_path).read() == []
    assert Ledger(tmp_path / "absent").read() == []


def test_trials_csv(tmp_path: Path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.write(record())
    ledger.write(
        record(
            seed=2,
            cost={"seconds": 1.5},
            geometry={"anisotropy": 0.25},
            scores={"STS12": {"spearman_wmean": 0.5}, "STSBenchmark": {"dev_spearman_cosine": 61.0}},
        )
    )
    ledger.write(record(seed=3, status="pruned"))
    write_trials_csv(tmp_path / "trials.csv", ledger.read(), {HASH: "the baseline"}, {})
    with open(tmp_path / "trials.csv", newline="") as file:
        first, second = csv.DictReader(file)
    assert (first["row"], first["seed"], first["selection"]) == ("the baseline", "1", "")
    assert (second["selection"], second["average.development_sts"], second["average.liao_sts"]) == ("61.0", "61.0", "")
    assert (first["MR.test_accuracy"], first["STS12.spearman_wmean"]) == ("60.0", "")
    assert (second["cost.seconds"], second["STS12.spearman_wmean"]) == ("1.5", "0.5")
    assert (first["geometry.anisotropy"], second["geometry.anisotropy"]) == ("", "0.25")
    assert second["objective.name"] == "scl"


def test_a_trials_key():
    assert split_key(trial_key("0123456789ab", 12)) == ("0123456789ab", 12)
    for wrong in ("0123456789ab", "0123456789ab-x", "-1", "0123456789ab-1.json", "row-3"):
        with pytest.raises(UserError, match="not the key of a trial"):
            split_key(wrong)


def test_a_studys_plugins_run_before_its_space(tmp_path: Path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "mine.py").write_text("import search_spaces\nsearch_spaces.ran_before = True\n")
    (tmp_path / "space.py").write_text(
        "import search_spaces\nfrom search_spaces import Space\nfrom trainables.recipe import Recipe\n"
        "assert search_spaces.ran_before\n"
        "SPACE = Space(name='mine', title='', paper='', base=Recipe())\n"
    )
    info = StudyInfo(space="mine", space_file="space.py", plugins=["mine.py"])
    trust_folder(tmp_path)
    assert info.load_space(tmp_path).name == "mine"
    with pytest.raises(UserError, match=r"plugin file .*gone.py does not exist"):
        dataclasses.replace(info, plugins=["gone.py"]).load_space(tmp_path)


def test_study_file(tmp_path: Path):
    info = StudyInfo(
        space="scl_tau",
        base=dict(Recipe().flat()),
        row_hashes={"a": None, "b": "00"},
        seeds=[1, 2],
        finals=Finals(3, 5, ["0a", "0b"], base="0c", as_it_came="0d"),
    )
    info.save(tmp_path)
    assert StudyInfo.load(tmp_path) == info
    assert info.load_space(tmp_path).name == "scl_tau"
    content = json.loads((tmp_path / "study.json").read_text())
    (tmp_path / "study.json").write_text(json.dumps(content | {"newer": True}))
    assert StudyInfo.load(tmp_path) == info


@pytest.mark.parametrize(
    ("text", "sentence"), [(None, "holds no study.json"), ("{", "is not a study"), ("{}", "has the schema None")]
)
def test_not_a_study(tmp_path: Path, text: str | None, sentence: str):
    if text is not None:
        (tmp_path / "study.json").write_text(text)
    with pytest.raises(UserError, match=sentence):
        StudyInfo.load(tmp_path)
    with pytest.raises(UserError, match="does not exist"):
        StudyInfo.load(tmp_path / "absent")


def valid(folder: Path) -> Path:
    """The file of a record that can be right."""
    recipe = Recipe()
    return Ledger(folder).write(
        made_record(
            recipe=dict(recipe.flat()),
            recipe_hash=recipe.hash,
            seed=1,
            scores={"MR": {"test_accuracy": 60.0, "examples": [10, 10]}, "STS12": {"spearman_wmean": -3.5}},
            training={"steps": 90, "loss": -0.5, "stopped": None},
            cost={"seconds": 1.0},
            data={"overlap": {"MR": {"items": 10, "seen": 1}}, "encoder": {"fingerprint": "feed", "fresh": []}},
        )
    )


RUNG = {"rung": 1, "step": 3, "seconds": 1.5, "tokens": 90, "scores": {"sts": 60.0}}
WRONG: list[tuple[tuple[str, ...], object, str]] = [
    (("scores", "MR", "test_accuracy"), math.nan, "scores.MR.test_accuracy is nan"),
    (("scores", "MR", "test_accuracy"), 640.0, "is 640, which lies outside 0 to 100"),
    (("scores", "MR", "test_accuracy"), -1.0, "is -1, which lies outside 0 to 100"),
    (("scores", "STS12", "spearman_wmean"), -100.5, "outside -100 to 100"),
    (
        ("scores", "ImageCaptionRetrieval"),
        {"test_i2t_medr": 0.5},
        "medr is 0.5, which lies outside 1 to inf",
    ),
    (("recipe", "objective.colour"), "red", "'objective.colour'"),
    (("recipe", "objective.temperature"), "warm", "or a number"),
    (("seed",), "1", "seed must be a whole number"),
    (("training", "steps"), -90, "training.steps must be at least 0, not -90"),
    (("training", "kept"), {"keep": "last", "step": 3}, "training.kept.keep must be 'best' or 'average'"),
    (("training", "kept"), {"keep": "best", "step": 3}, "training.kept has not the steps of `best`"),
    (("training", "rungs"), [RUNG, RUNG], "training.rungs has the rungs [1, 1], which do not follow each other"),
    (("training", "rungs"), [{**RUNG, "scores": {}}], "training.rungs[0].scores has no scores"),
    (("training", "rungs"), [{"rung": 1}], "training.rungs[0].step is missing"),
    (("cost", "seconds"), 1e300, "larger than anything"),
    (("finished_at",), "yesterday", "finished_at must be a time"),
    (("finished_at",), "2026-01-01T00:00:00", "finished_at must be a time"),
    (("hardware",), "\ud800", "no text that can be written"),
    (("data", "overlap", "MR", "seen"), 11, "seen 11 of 10 items of MR"),
    (
        ("data", "corpus"),
        {"layout": "mix", "shares": [1.0], "parts": []},
        "data.corpus has not the share of each of its",
    ),
    (("data", "corpus"), {"layout": "mix", "shares": [2.0]}, "data.corpus.shares[0] must lie between 0 and 1, not 2.0"),
    (("data", "corpus"), {"layout": "mix", "shares": [1.0], "parts": [{}]}, "data.corpus.parts[0].layout is missing"),
]


@pytest.mark.parametrize(("place", "value", "sentence"), WRONG)
def test_a_record_that_cannot_be_right_is_set_aside(
    tmp_path: Path, place: tuple[str, ...], value: object, sentence: str
):
    path = valid(tmp_path)
    content = json.loads(path.read_text())
    of_evaluation = place[0] in ("scores", "protocol", "predictions") or place[:2] == ("data", "overlap")
    inner = content["evaluations"][0] if of_evaluation else content
    for key in place[:-1]:
        inner = inner[key] if key in inner else inner.setdefault(key, {})
    inner[place[-1]] = value
    path.write_text(json.dumps(content))
    records, set_aside = Ledger(tmp_path).sift()
    assert records == []
    assert list(set_aside) == [path.name]
    assert sentence in set_aside[path.name]


@pytest.mark.parametrize(
    "training",
    [{"chunk": None}, {"chunk": "passes"}, {"chunk": 4096, "mine": -3.5}, {"rungs": [RUNG, {**RUNG, "rung": 3}]}],
)
def test_what_training_measured_is_read_as_it_was_written(tmp_path: Path, training: dict[str, Any]):
    path = valid(tmp_path)
    content = json.loads(path.read_text())
    content["training"] |= training
    path.write_text(json.dumps(content, indent=1) + "\n")
    before = path.read_bytes()
    assert Ledger(tmp_path).write(read_record(path)).read_bytes() == before
    assert Ledger(tmp_path).read()[0].training == content["training"]


def test_a_record_from_before_a_key_is_whole_again(tmp_path: Path):
    path = valid(tmp_path)
    content = json.loads(path.read_text())
    for key in ("encoder.adapter", "optimisation.keep", "corpus.columns"):
        del content["recipe"][key]
    path.write_text(json.dumps(content))
    (kept,), set_aside = Ledger(tmp_path).sift()
    assert set_aside == {}
    assert kept.recipe == Recipe().flat()
