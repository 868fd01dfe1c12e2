"""What TensorBoard shows of a study, read back as TensorBoard itself reads it."""

from __future__ import annotations

import errno
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from study.callbacks.tensorboard import FOLDER, TensorBoard, build
from tests.watched import MEASURED, outlook, record, trial

reader = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator", reason="TensorBoard is not installed"
)


def read(folder: Path) -> Any:
    return reader.EventAccumulator(str(folder)).Reload()


def points(events: Any, name: str) -> list[tuple[int, float]]:
    return [(event.step, pytest.approx(event.value)) for event in events.Scalars(name)]


def text(events: Any, name: str) -> str:
    (event,) = events.Tensors(f"{name}/text_summary")
    return str(event.tensor_proto.string_val[0].decode())


def hyperparameters(events: Any) -> dict[str, Any]:
    plugin = pytest.importorskip("tensorboard.plugins.hparams.plugin_data_pb2")
    content = events.PluginTagToContent("hparams")["_hparams_/session_start_info"]
    data = plugin.HParamsPluginData.FromString(content)
    return {key: getattr(value, value.WhichOneof("kind")) for key, value in data.session_start_info.hparams.items()}


def test_a_trial_has_its_curves_rungs_scores_and_recipe(tmp_path: Path) -> None:
    looked = outlook(tmp_path)
    spec = trial(looked)
    board = TensorBoard(tmp_path)
    board.started([spec])
    for step in (1, 45, 90):
        board.step(spec, step, 90, {"loss": 1 / step, "learning_rate": 1e-5})
        if step == 45:
            board.rung(spec, 1, {"sts": 61.5})
    board.finished(spec, record(spec))

    events = read(tmp_path / FOLDER / spec.key)  # before `close`: the end of a trial is there when it is told
    assert points(events, "train/loss") == [(1, 1.0), (45, 1 / 45), (90, 1 / 90)]
    assert points(events, "train/learning_rate")[-1] == (90, 1e-5)
    assert points(events, "development/score") == [(45, 61.5)]
    assert points(events, "development/rung") == [(45, 1)]
    scores = {tag for tag in events.Tags()["scalars"] if not tag.startswith("train/")}
    assert scores == {*MEASURED, "development/score", "development/rung"}
    assert {name: points(events, name) for name in MEASURED} == {
        name: [(90, value)] for name, value in MEASURED.items()
    }
    shown = hyperparameters(events)
    assert shown["objective.temperature"] == spec.recipe["objective.temperature"]
    assert shown["evaluation.tasks"] == ", ".join(spec.evaluation["evaluation.tasks"])
    assert shown["label"] == spec.name
    assert shown["seed"] == spec.seed
    assert spec.name in text(events, "trial")
    assert board.writers == {}


def test_a_label_cannot_leave_the_folder_and_is_shown_without_control_characters(tmp_path: Path) -> None:
    looked = outlook(tmp_path / "results")
    name = "../../../escaped/\x1b[31m\n" + "x" * 300
    spec = trial(looked, name=name)
    board = TensorBoard(tmp_path / "results")
    board.step(spec, 1, 1, {"loss": 0.5})
    board.failed(spec, "out\nof memory")
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    assert [path.name for path in (tmp_path / "results" / FOLDER).iterdir()] == [spec.key]
    events = read(tmp_path / "results" / FOLDER / spec.key)
    assert hyperparameters(events)["label"] == name.replace("\x1b", "\\x1b").replace("\n", "\\n")
    assert "../../../escaped/\\x1b[31m\\nxxx" in text(events, "trial")
    assert text(events, "ended") == "    failed: out\\nof memory"


def test_steps_that_are_repeated_replace_the_old_ones(tmp_path: Path) -> None:
    looked = outlook(tmp_path)
    spec = trial(looked)
    board = TensorBoard(tmp_path)
    for first, loss in ((1, 1.0), (3, 2.0)):  # a crew died after step 4, its checkpoint was of step 2
        board.started([spec])
        for step in range(first, 5):
            board.step(spec, step, 4, {"loss": loss})
    board.close()
    events = read(tmp_path / FOLDER / spec.key)
    assert points(events, "train/loss") == [(1, 1.0), (2, 1.0), (3, 2.0), (4, 2.0)]

    again = TensorBoard(tmp_path)
    again.started([spec])
    again.step(spec, 4, 4, {"loss": 3.0})
    again.finished(spec, record(spec, stopped="stopped by asha"))
    events = read(tmp_path / FOLDER / spec.key)
    assert points(events, "train/loss")[2:] == [(3, 2.0), (4, 3.0)]
    assert text(events, "ended") == "    stopped by asha"


def test_trials_that_train_together_have_a_folder_each(tmp_path: Path) -> None:
    looked = outlook(tmp_path)
    specs = [trial(looked, number) for number in range(3)]
    board = TensorBoard(tmp_path)
    board.started(specs)
    for number, spec in enumerate(specs):
        board.step(spec, 1, 1, {"loss": float(number)})
    board.close()
    found = {path.name: points(read(path), "train/loss") for path in (tmp_path / FOLDER).iterdir()}
    assert found == {spec.key: [(1, float(number))] for number, spec in enumerate(specs)}


def test_a_full_disk_blocks_nobody_and_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that writes dies of it, without a traceback, and the study goes on telling."""
    looked = outlook(tmp_path)
    spec = trial(looked)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    died: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", died.append)
    board = build(looked)
    board.step(spec, 0, 100, {"loss": 1.0})
    monkeypatch.setattr("tensorboardX.record_writer.RecordWriter.write", full)
    monkeypatch.setattr("tensorboardX.record_writer.RecordWriter.flush", full)
    told = threading.Thread(target=tell, args=(board, spec), daemon=True)
    told.start()
    told.join(20)
    assert not told.is_alive()
    with pytest.raises(OSError, match="No space left"):
        board.close()
    for writer in board.writers.values():
        writer.file_writer.event_writer.close()  # as the library does when the process ends
    assert died == []


def tell(board: TensorBoard, spec: Any) -> None:
    for step in range(1, 100):
        board.step(spec, step, 100, {"loss": 1.0})
        time.sleep(0.002)
