"""How a study stands: what runs, what ended, and how long the rest takes. There is one for all callbacks."""

from __future__ import annotations

import dataclasses
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reports.ledger import STAGES, Ledger, Record, StageTime, read_failures
from reports.ledger.moments import now
from study.callbacks.base import Callback
from study.callbacks.eta import Forecast, TimeLeft, TrainingGroup
from study.plan import Plan
from study.search.outlook import Outlook
from study.trial import Trial, cost_key

REFRESH_SECONDS = 2.0
"""How old a forecast may be: with a thousand trials it takes some milliseconds."""


@dataclass
class RunningTrial:
    """A trial that runs. What is not known yet is None."""

    trial: Trial
    group: TrainingGroup
    """Those that train together."""
    since: str
    """When it began, as files tell it."""
    attempt: int
    """1, and one more each time that its worker group died and another began it."""
    step: int | None = None
    steps: int | None = None
    loss: float | None = None
    rung: int | None = None
    scores: dict[str, float] = field(default_factory=dict)
    """At that rung, by goal."""


class StudyState(Callback):
    """What callbacks may ask of the study that they follow. It hears of every event before they do. The ledger is read
    once, at the start."""

    def __init__(
        self,
        plan: Plan,
        ledger: Ledger,
        at_once: int,
        remaining: Callable[[], int],
        waiting: Callable[[], Iterable[Trial]],
        ahead: Callable[[], Outlook] = Outlook,
        seconds_left: Callable[[], float] = lambda: math.inf,
    ) -> None:
        self.plan, self.ledger = plan, ledger
        self.at_once = at_once
        """How many trials may run at the same time."""
        self.remaining = remaining
        """How many trials have no record yet, those that run included."""
        self.waiting = waiting
        """Those that are next, as far as a search has chosen them."""
        self.ahead = ahead
        """What will run yet, as far as limits leave room."""
        self.seconds_left = seconds_left
        """Until the study's limit in minutes, after which none begins; infinite without one."""
        records, _ = ledger.sift()
        self.statuses: dict[str, str] = {record.key: record.status for record in records}
        """Of all records, those of this run included, by trial."""
        self.failures = {failure.key for failure in read_failures(plan.results)} - self.statuses.keys()
        """Trials that failed, also in earlier runs, and have not begun again since."""
        self.events = 0
        """How many it has heard of."""
        self.running: dict[str, RunningTrial] = {}
        """By trial, in the order of their begin."""
        self.orphans: dict[str, Trial] = {}
        """By trial, those whose worker group died, until another one begins them."""
        self.failed_starts = ""
        """`the last 3 starts failed: ImportError: ...` while no worker group starts, else nothing."""
        self.ended = 0
        """How many ended in this run of the study, whatever became of them."""
        self.failed_now = 0
        """How many of these left no record."""
        self._total = remaining()
        self.began = time.monotonic()
        self._attempts: dict[str, int] = {}
        self._stages: dict[str, float] = {}  # when the first trial of each began
        self._times = TimeLeft(records, at_once)
        self._coming = self.coming
        self._forecast: tuple[float, Forecast] | None = None

    @property
    def seconds(self) -> float:
        """How long this run of the study goes on."""
        return time.monotonic() - self.began

    @property
    def total(self) -> int:
        """How many trials this run has; in a race over seeds at most, and ever fewer while recipes drop out of it."""
        return min(self._total, self.ended + self.remaining())

    @property
    def queued(self) -> int:
        """How many have not begun."""
        return max(0, self.remaining() - len(self.running))

    @property
    def coming(self) -> int:
        """How many of these are known to begin: the study's limits may have no room for all."""
        return min(self.queued, self.ahead().begins)

    def started(self, trials: Sequence[Trial]) -> None:
        self._pass_time()
        self.failed_starts = ""
        new = [trial for trial in trials if trial.key not in self.statuses]  # some of a resumed population are done
        group = TrainingGroup(time.monotonic(), len(new))
        for trial in new:
            self._times.know_hardware(trial.resources.hardware)
            self.running.pop(trial.key, None)
            self.orphans.pop(trial.key, None)
            self.failures.discard(trial.key)
            attempt = self._attempts[trial.key] = self._attempts.get(trial.key, 0) + 1
            self.running[trial.key] = RunningTrial(trial, group, now(), attempt)
            self._stages.setdefault(trial.stage, group.began)
        self._changed()

    def interrupted(self, trials: Sequence[Trial]) -> None:
        self._pass_time()
        for trial in trials:
            if self.running.pop(trial.key, None) is not None:
                self.orphans[trial.key] = trial
        self._changed()

    def not_started(self, trials: Sequence[Trial], starts: int, reason: str) -> None:
        self.events += 1
        self.failed_starts = f"the last {f'{starts:,} starts' if starts > 1 else 'start'} failed: {reason}"

    def step(self, trial: Trial, step: int, steps: int, scalars: Mapping[str, float]) -> None:
        self.events += 1
        run = self.running.get(trial.key)
        if run is not None:
            run.step, run.steps, run.loss = step, steps, scalars.get("loss")
            run.group.stepped(time.monotonic(), step, steps)

    def rung(self, trial: Trial, number: int, scores: Mapping[str, float]) -> None:
        self.events += 1
        run = self.running.get(trial.key)
        if run is not None:
            run.rung, run.scores = number, dict(scores)

    def finished(self, trial: Trial, record: Record) -> None:
        self._pass_time()
        self.failed_starts = ""
        self.ended += 1
        self.statuses[trial.key] = record.status
        self.failures.discard(trial.key)
        self.orphans.pop(trial.key, None)
        run = self.running.pop(trial.key, None)
        self._times.finished(record, run.group if run else None, time.monotonic())
        self._changed()

    def failed(self, trial: Trial, reason: str) -> None:
        self._pass_time()
        self.ended += 1
        self.failed_now += 1
        self.failures.add(trial.key)
        self.orphans.pop(trial.key, None)
        run = self.running.pop(trial.key, None)
        if run is not None:
            self._times.failed(run.group, time.monotonic())
        self._changed()

    def close(self) -> None:
        self.running.clear()

    def trained(self, key: str) -> bool:
        """Whether that trial runs, and has told of the last of its planned steps."""
        run = self.running.get(key)
        return run is not None and run.step is not None and run.step == run.steps

    def counts(self) -> dict[str, int]:
        """How many trials there are of each state."""
        ended = Counter(self.statuses.values())
        return {
            "queued": self.queued,
            "running": len(self.running),
            "finished": ended["finished"],
            "stopped": ended["pruned"],
            "failed": len(self.failures),
        }

    def forecast(self) -> Forecast:
        """When all will have ended, as far as is known now."""
        clock = time.monotonic()
        if self._forecast is None or clock - self._forecast[0] >= REFRESH_SECONDS:
            self._pass_time()
            ahead = self.ahead()
            self._coming = min(self.queued, ahead.begins)
            running = [(run.group, cost_key(run.trial.recipe_hash, run.trial.seed)) for run in self.running.values()]
            forecast = self._times.forecast(clock, running, ahead)
            if forecast.seconds is None and ahead.left < math.inf:  # a search uses all of it
                forecast = dataclasses.replace(forecast, seconds=max(0.0, ahead.left))
            self._forecast = clock, forecast
        at, forecast = self._forecast
        return forecast.after(clock - at)

    def stages(self) -> list[StageTime]:
        """The stages of this run; empty while nobody knows how long they take, and where there is only one."""
        forecast, clock = self.forecast(), time.monotonic()
        if forecast.seconds is None:
            return []
        times, before = [], 0.0
        for place, stage in enumerate(STAGES):
            began = self._stages.get(stage)
            later = [self._stages[name] for name in STAGES[place + 1 :] if name in self._stages]
            until = before if later else forecast.ends.get(stage, forecast.seconds if began else before)
            if began is not None or until > before:
                passed = 0.0 if began is None else max(0.0, min(later, default=clock) - began)
                times.append(StageTime(stage, passed, max(0.0, until - before)))
            before = until
        return times if len(times) > 1 else []

    def _pass_time(self) -> None:
        groups = len({id(run.group) for run in self.running.values()})
        self._times.pass_time(time.monotonic(), groups, self._coming)

    def _changed(self) -> None:
        self.events += 1
        self._coming = self.coming
        self._pass_time()
