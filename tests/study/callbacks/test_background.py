"""A callback on a thread of its own: in order, never waited for, and its errors are told."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from study.callbacks import Callback, background
from study.callbacks.background import InBackground
from study.testing.callbacks import Followed, record, study_state, trial
from study.trial import Trial
from trainables.errors import UserError

WAIT = 20.0
"""Seconds; a loaded machine."""


class Slow(Callback):
    """Keeps what it is told, once it may."""

    def __init__(self, may: threading.Event) -> None:
        self.may = may
        self.heard: list[Any] = []

    def step(self, trial: Any, step: int, steps: int, scalars: Any) -> None:
        self.may.wait(WAIT)
        self.heard.append((step, scalars))

    def finished(self, trial: Any, record: Any) -> None:
        self.heard.append(record.status)

    def failed(self, trial: Any, reason: str) -> None:
        raise ConnectionError(reason)

    def close(self) -> None:
        self.heard.append("closed")


def followed(results: Path, slow: Slow) -> tuple[Followed, InBackground, Trial]:
    """A study that tells of a trial to one that works on a thread of its own."""
    state = study_state(results)
    slowly = InBackground("the tracker", lambda: slow)
    return Followed(state, slowly), slowly, trial(state)


def test_nothing_waits_for_it_and_everything_arrives_in_order(tmp_path: Path) -> None:
    may = threading.Event()
    slow = Slow(may)
    study, slowly, spec = followed(tmp_path, slow)
    study.started([spec])
    study.step(spec, 1, 2, {"loss": 1.0})
    study.step(spec, 2, 2, {"loss": 2.0})
    study.finished(spec, record(spec))
    for _ in range(1000):
        slowly.tick()
    assert slow.heard == []
    assert slowly.events.qsize() < 10  # ticks do not pile up
    may.set()
    slowly.close()
    assert slow.heard == [(1, {"loss": 1.0}), (2, {"loss": 2.0}), "finished", "closed"]
    assert not slowly.thread.is_alive()


def test_what_it_raises_is_raised_by_the_next_call(tmp_path: Path) -> None:
    study, slowly, spec = followed(tmp_path, Slow(threading.Event()))
    study.failed(spec, "no server")
    slowly.thread.join(WAIT)
    with pytest.raises(ConnectionError, match="no server"):
        slowly.tick()


def test_one_that_does_not_answer_is_given_up_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "PATIENCE_SECONDS", 0.2)
    may = threading.Event()
    study, slowly, spec = followed(tmp_path, Slow(may))
    study.step(spec, 1, 1, {})
    with pytest.raises(UserError, match="the tracker did not answer"):
        slowly.close()
    may.set()
    slowly.thread.join(WAIT)


def test_one_that_gets_on_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "PATIENCE_SECONDS", 0.5)

    class Steady(Slow):
        def finished(self, trial: Any, record: Any) -> None:
            self.may.wait(0.2)
            super().finished(trial, record)

    steady = Steady(threading.Event())
    study, slowly, spec = followed(tmp_path, steady)
    for _ in range(8):  # 1.6 s in all
        study.finished(spec, record(spec))
    slowly.close()
    assert steady.heard == ["finished"] * 8 + ["closed"]
