"""The course of a study, told by its events: what runs, what ended, and how long the rest takes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reports.ledger import Record
from study.callbacks.base import Outlook, Watcher
from study.callbacks.eta import Forecast, Group, TimeLeft
from study.trial import Trial

REFRESH_SECONDS = 2.0
"""How old a forecast may be: with a thousand trials it takes some milliseconds."""


@dataclass
class Run:
    """A trial that runs. What is not known yet is None."""

    trial: Trial
    group: Group
    """Those that train together."""
    attempt: int
    """1, and one more each time that its workers died and others began it."""
    step: int | None = None
    steps: int | None = None
    loss: float | None = None
    rung: int | None = None
    scores: dict[str, float] = field(default_factory=dict)
    """At that rung, by goal."""


class Course(Watcher):
    """A watcher that keeps what runs and what ended. The ledger is read once, at the start."""

    def __init__(self, outlook: Outlook) -> None:
        self.outlook = outlook
        records, _ = outlook.ledger.sift()
        self.statuses: dict[str, str] = {record.key: record.status for record in records}
        """Of all records, those of earlier runs included, by trial."""
        self.running: dict[str, Run] = {}
        """By trial, in the order of their begin."""
        self.orphans: dict[str, Trial] = {}
        """By trial, those whose workers died, until others begin them."""
        self.ended = 0
        """How many ended in this run of the study, whatever became of them."""
        self.failed_now = 0
        """How many of these left no record."""
        self._total = outlook.remaining()
        self.began = time.monotonic()
        self._attempts: dict[str, int] = {}
        self._times = TimeLeft(records, outlook.at_once)
        self._coming = self.coming
        self._forecast: tuple[float, Forecast] | None = None

    @property
    def seconds(self) -> float:
        """How long this run of the study goes on."""
        return time.monotonic() - self.began

    @property
    def total(self) -> int:
        """How many trials this run has; in a race over seeds at most, and ever fewer while recipes drop out of it."""
        return min(self._total, self.ended + self.outlook.remaining())

    @property
    def queued(self) -> int:
        """How many have not begun."""
        return max(0, self.outlook.remaining() - len(self.running))

    @property
    def coming(self) -> int:
        """How many of these will begin: the study's limits may have no room for all."""
        return int(min(self.queued, self.outlook.room()))

    def started(self, trials: Sequence[Trial]) -> None:
        self._pass_time()
        new = [trial for trial in trials if trial.key not in self.statuses]  # some of a resumed population are done
        group = Group(time.monotonic(), len(new))
        for trial in new:
            self._times.know_hardware(trial.resources.hardware)
            self.running.pop(trial.key, None)
            self.orphans.pop(trial.key, None)
            attempt = self._attempts[trial.key] = self._attempts.get(trial.key, 0) + 1
            self.running[trial.key] = Run(trial, group, attempt)
        self._changed()

    def interrupted(self, trials: Sequence[Trial]) -> None:
        self._pass_time()
        for trial in trials:
            if self.running.pop(trial.key, None) is not None:
                self.orphans[trial.key] = trial
        self._changed()

    def step(self, trial: Trial, step: int, steps: int, scalars: Mapping[str, float]) -> None:
        run = self.running.get(trial.key)
        if run is not None:
            run.step, run.steps, run.loss = step, steps, scalars.get("loss")
            run.group.stepped(time.monotonic(), step, steps)

    def rung(self, trial: Trial, number: int, scores: Mapping[str, float]) -> None:
        run = self.running.get(trial.key)
        if run is not None:
            run.rung, run.scores = number, dict(scores)

    def finished(self, trial: Trial, record: Record) -> None:
        self._pass_time()
        self.ended += 1
        self.statuses[trial.key] = record.status
        self.orphans.pop(trial.key, None)
        run = self.running.pop(trial.key, None)
        self._times.finished(record, run.group if run else None, time.monotonic())
        self._changed()

    def failed(self, trial: Trial, reason: str) -> None:
        self._pass_time()
        self.ended += 1
        self.failed_now += 1
        self.orphans.pop(trial.key, None)
        run = self.running.pop(trial.key, None)
        if run is not None:
            self._times.failed(run.group, time.monotonic())
        self._changed()

    def forecast(self) -> Forecast:
        """When all will have ended, as far as is known now."""
        now = time.monotonic()
        if self._forecast is None or now - self._forecast[0] >= REFRESH_SECONDS:
            self._pass_time()
            self._coming = self.coming
            chosen = (planned.recipe.hash for planned in self.outlook.waiting())
            waiting = [*itertools.islice(itertools.chain(chosen, itertools.repeat(None)), self._coming)]
            running = [(run.group, run.trial.recipe_hash) for run in self.running.values()]
            self._forecast = now, self._times.forecast(now, running, waiting)
        at, found = self._forecast
        return found.after(now - at)

    def _pass_time(self) -> None:
        groups = len({id(run.group) for run in self.running.values()})
        self._times.pass_time(time.monotonic(), groups, self._coming)

    def _changed(self) -> None:
        self._coming = self.coming
        self._pass_time()
