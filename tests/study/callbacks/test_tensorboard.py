"""What is TensorBoard's own: where its files lie, and what a full disk does to them."""

from __future__ import annotations

import dataclasses
import errno
import os
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from study.callbacks.tensorboard import FOLDER, TensorBoard, build
from study.testing.callbacks import record, study_state, trial

reader = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator", reason="TensorBoard is not installed"
)


def test_a_label_names_no_folder_and_is_shown_without_control_characters(tmp_path: Path) -> None:
    state = study_state(tmp_path / "results")
    spec = trial(state, name="../../../escaped/\x1b[31m\n" + "x" * 300)
    board = TensorBoard(tmp_path / "results", ())
    board.step(spec, 1, 1, {"loss": 0.5})
    board.finished(spec, record(spec))
    (folder,) = (tmp_path / "results" / FOLDER).iterdir()
    assert re.fullmatch(r"escaped-1b?-?31m-x+|escaped-31m-x+", folder.name)
    assert not (tmp_path / "escaped").exists()
    # before `close`: the end of a trial is there when it is told
    events = reader.EventAccumulator(str(folder / f"seed-{spec.seed}")).Reload()
    (event,) = events.Tensors("trial/text_summary")
    assert "../../../escaped/\\x1b[31m\\nxxx" in event.tensor_proto.string_val[0].decode()
    assert board.runs == {}


def test_a_folder_is_called_as_people_call_the_trial_and_stays_its_own(tmp_path: Path) -> None:
    state = study_state(tmp_path)
    first = trial(state, name="#17 batch 128, cls, tau 0.05")
    same = dataclasses.replace(first, recipe_hash="0123456789ab")
    renamed = dataclasses.replace(first, name="a row that came later")
    for group in ((first, same), (renamed,)):
        board = TensorBoard(tmp_path, ())
        for spec in group:
            board.step(spec, 1, 1, {"loss": 0.5})
        board.close()
    called = "17-batch-128-cls-tau-0.05"
    assert sorted(path.name for path in (tmp_path / FOLDER).iterdir()) == [called, f"{called}-0123456789ab"]
    assert len(list((tmp_path / FOLDER / called / f"seed-{first.seed}").glob("events.*"))) == 2


def test_a_full_disk_blocks_nobody_and_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that writes dies of it, without a traceback, and the study goes on telling."""
    state = study_state(tmp_path)
    spec = trial(state)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    died: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", died.append)
    board = build(state)
    board.step(spec, 0, 100, {"loss": 1.0})
    monkeypatch.setattr("tensorboardX.record_writer.RecordWriter.write", full)
    monkeypatch.setattr("tensorboardX.record_writer.RecordWriter.flush", full)
    thread = threading.Thread(target=tell, args=(board, spec), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    with pytest.raises(OSError, match="No space left"):
        board.close()
    for file in board.files:
        file.file_writer.event_writer.close()  # as the library does when the process ends
    assert died == []


def tell(board: TensorBoard, spec: Any) -> None:
    for step in range(1, 100):
        board.step(spec, step, 100, {"loss": 1.0})
        time.sleep(0.002)
