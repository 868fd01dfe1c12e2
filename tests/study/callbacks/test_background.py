"""A watcher on a thread of its own: in order, never waited for, and its errors are told."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from study.callbacks import Watcher, background
from study.callbacks.background import Aside
from tests.watched import Told, outlook, record, trial
from trainables.errors import UserError

WAIT = 20.0
"""Seconds; a loaded machine."""


class Slow(Watcher):
    """Keeps what it is told, once it may."""

    def __init__(self, may: threading.Event) -> None:
        self.may = may
        self.told: list[Any] = []

    def step(self, trial: Any, step: int, steps: int, scalars: Any) -> None:
        self.may.wait(WAIT)
        self.told.append((step, scalars))

    def finished(self, trial: Any, record: Any) -> None:
        self.told.append(record.status)

    def failed(self, trial: Any, reason: str) -> None:
        raise ConnectionError(reason)

    def close(self) -> None:
        self.told.append("closed")


def test_nothing_waits_for_it_and_everything_arrives_in_order(tmp_path: Path) -> None:
    spec = trial(outlook(tmp_path))
    may = threading.Event()
    slow = Slow(may)
    watched = Told(Aside("it", lambda: slow))
    watched.started([spec])
    watched.step(spec, 1, 2, {"loss": 1.0})
    watched.step(spec, 2, 2, {"loss": 2.0})
    watched.finished(spec, record(spec))
    for _ in range(1000):
        watched.tick()
    assert slow.told == []
    assert watched.events.qsize() < 10  # ticks do not pile up
    may.set()
    watched.close()
    assert slow.told == [(1, {"loss": 1.0}), (2, {"loss": 2.0}), "finished", "closed"]
    assert not watched.thread.is_alive()


def test_what_it_raises_is_raised_by_the_next_call(tmp_path: Path) -> None:
    spec = trial(outlook(tmp_path))
    watched = Told(Aside("it", lambda: Slow(threading.Event())))
    watched.failed(spec, "no server")
    watched.thread.join(WAIT)
    with pytest.raises(ConnectionError, match="no server"):
        watched.tick()


def test_one_that_does_not_answer_is_given_up_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "PATIENCE_SECONDS", 0.2)
    spec = trial(outlook(tmp_path))
    may = threading.Event()
    watched = Told(Aside("the tracker", lambda: Slow(may)))
    watched.step(spec, 1, 1, {})
    with pytest.raises(UserError, match="the tracker did not answer"):
        watched.close()
    may.set()
    watched.thread.join(WAIT)


def test_one_that_gets_on_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "PATIENCE_SECONDS", 0.5)

    class Steady(Slow):
        def finished(self, trial: Any, record: Any) -> None:
            self.may.wait(0.2)
            super().finished(trial, record)

    spec = trial(outlook(tmp_path))
    steady = Steady(threading.Event())
    watched = Told(Aside("it", lambda: steady))
    for _ in range(8):  # 1.6 s in all
        watched.finished(spec, record(spec))
    watched.close()
    assert steady.told == ["finished"] * 8 + ["closed"]
