"""All watchers of a study, told one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reports.ledger import Record
from study.spec import TrialSpec
from study.watchers.watcher import WATCHERS, Outlook, Watcher


class Audience:
    """Passes every event on to all watchers. One that raises is warned about once and left out from then on."""

    def __init__(self, outlook: Outlook) -> None:
        self._watchers: dict[str, Watcher] = {}
        for name, entry in WATCHERS.items():
            try:
                watcher = entry.build(outlook)
            except Exception as error:
                _warn(name, error)
                continue
            if watcher is not None:
                self._watchers[name] = watcher

    def started(self, trials: Sequence[TrialSpec]) -> None:
        self._all("started", trials)

    def step(self, trial: TrialSpec, step: int, steps: int, scalars: Mapping[str, float]) -> None:
        self._all("step", trial, step, steps, scalars)

    def rung(self, trial: TrialSpec, number: int, score: float) -> None:
        self._all("rung", trial, number, score)

    def finished(self, trial: TrialSpec, record: Record) -> None:
        self._all("finished", trial, record)

    def failed(self, trial: TrialSpec, reason: str) -> None:
        self._all("failed", trial, reason)

    def tick(self) -> None:
        self._all("tick")

    def close(self) -> None:
        self._all("close")

    def _all(self, event: str, *arguments: Any) -> None:
        for name, watcher in list(self._watchers.items()):
            try:
                getattr(watcher, event)(*arguments)
            except Exception as error:  # what is shown never ends a study
                del self._watchers[name]
                _warn(name, error)


def _warn(name: str, error: Exception) -> None:
    why = " ".join(f"{type(error).__name__}: {error}".split())
    print(f"warning: {name} is left out from now on: {why}", flush=True)
