"""What Weights & Biases gets of a study, offline, read back from the files that `wandb sync` would send."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from study.callbacks import WATCHERS, Outlook
from tests.watched import MEASURED, Told, outlook, record, trial

pytest.importorskip("wandb", reason="Weights & Biases is not installed")
messages = pytest.importorskip("wandb.proto.wandb_internal_pb2")

BLOCK, FILE_HEADER, HEADER = 32768, 7, 7
FULL, LAST = 1, 4
"""Kinds of chunks that end a message, in the file format, which is that of LevelDB's log."""


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.delenv("WANDB_API_KEY", raising=False)


def watcher(looked: Outlook) -> Told:
    found = WATCHERS["wandb"].build(looked)
    assert found is not None
    return Told(found)


def kept(path: Path) -> Iterator[Any]:
    """The messages of one run's file."""
    content, place, parts = path.read_bytes(), FILE_HEADER, b""
    while place + HEADER <= len(content):
        if BLOCK - place % BLOCK < HEADER:  # the rest of a block that is too short for a header
            place += BLOCK - place % BLOCK
            continue
        _, length, kind = struct.unpack("<IHB", content[place : place + HEADER])
        parts += content[place + HEADER : place + HEADER + length]
        place += HEADER + length
        if kind in (FULL, LAST):
            yield messages.Record.FromString(parts)
            parts = b""


class Run:
    """One run, as its file tells it."""

    def __init__(self, path: Path) -> None:
        self.config: dict[str, Any] = {}
        self.history: list[dict[str, Any]] = []
        self.summary: dict[str, Any] = {}
        self.preempting = False
        for message in kept(path):
            kind = message.WhichOneof("record_type")
            if kind == "run":
                self.id, self.name = message.run.run_id, message.run.display_name
                self.project, self.group = message.run.project, message.run.run_group
                self.config |= {item.key: json.loads(item.value_json) for item in message.run.config.update}
            elif kind == "history":
                self.history.append(_values(message.history.item))
            elif kind == "summary":
                self.summary |= _values(message.summary.update)
            elif kind == "exit":
                self.exit_code = message.exit.exit_code
            elif kind == "preempting":
                self.preempting = True


def _values(items: Any) -> dict[str, Any]:
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}


def runs(results: Path) -> list[Run]:
    return [Run(path) for path in sorted((results / "wandb").glob("offline-run-*/*.wandb"))]


def test_it_is_off_where_nobody_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WANDB_MODE")
    assert WATCHERS["wandb"].build(outlook(tmp_path)) is None


def test_runs_that_are_open_at_once_have_recipe_losses_and_every_score(tmp_path: Path) -> None:
    looked = outlook(tmp_path)
    specs = [trial(looked, 0), trial(looked, 1)]
    watched = watcher(looked)
    watched.started(specs)
    for step in (1, 45, 90):
        for number, spec in enumerate(specs):
            watched.step(spec, step, 90, {"loss": number + 1 / step})
        watched.tick()
    watched.rung(specs[0], 1, {"sts": 61.5, "transfer": 80.0})
    for spec in specs:
        watched.finished(spec, record(spec))
    watched.close()

    found = {run.config["key"]: run for run in runs(tmp_path)}
    assert set(found) == {spec.key for spec in specs}
    for number, spec in enumerate(specs):
        run = found[spec.key]
        assert (run.name, run.project, run.group) == (f"{spec.name} seed {spec.seed}", "scl_tau", spec.name)
        told = {key: value for key, value in spec.recipe.flat().items() if value is not None}
        flat = {key: ", ".join(value) if isinstance(value, list | tuple) else value for key, value in told.items()}
        assert flat.items() <= run.config.items()
        losses = {item["_step"]: item["train/loss"] for item in run.history if "train/loss" in item}
        assert losses == {step: number + 1 / step for step in (1, 45, 90)}
        assert run.exit_code == 0
        assert MEASURED.items() <= run.summary.items()
        assert run.summary["status"] == "finished"
    for goal, score in (("sts", 61.5), ("transfer", 80.0)):
        name = f"development/score/{goal}"
        assert [item[name] for item in found[specs[0].key].history if name in item] == [score]


def test_stopped_failed_and_interrupted_trials_say_why(tmp_path: Path) -> None:
    looked = outlook(tmp_path)
    stopped, failed, cut = (trial(looked, number) for number in range(3))
    watched = watcher(looked)
    watched.started([stopped, failed, cut])
    watched.finished(stopped, record(stopped, stopped="stopped by asha"))
    watched.failed(failed, "CUDA\nout of memory")
    watched.close()
    found = {run.config["key"]: run for run in runs(tmp_path)}
    told = {key: (run.exit_code, run.preempting, run.summary["status"]) for key, run in found.items()}
    assert told == {
        stopped.key: (0, False, "pruned"),
        failed.key: (1, False, "failed"),
        cut.key: (1, True, "interrupted"),
    }
    assert found[stopped.key].summary["reason"] == "stopped by asha"
    assert found[failed.key].summary["reason"] == "CUDA\\nout of memory"


def test_a_study_that_is_run_again_has_the_same_run_and_another_study_has_not(tmp_path: Path) -> None:
    for folder in ("results", "results", "elsewhere"):
        looked = outlook(tmp_path / folder)
        watched = watcher(looked)
        watched.started([trial(looked)])
        watched.close()
    ids = [run.id for folder in ("results", "elsewhere") for run in runs(tmp_path / folder)]
    assert ids[0] == ids[1] != ids[2]
