"""The state of a study, shared by all callbacks: running and ended trials, and the time left."""

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
"""A forecast is computed again once it is older than this. With a thousand trials that takes some milliseconds."""


@dataclass
class RunningTrial:
    """A running trial. Unknown numbers are None."""

    trial: Trial
    group: TrainingGroup
    """This trial and the trials that train together with it."""
    since: str
    """Time at which the trial began, as text in the format of the results' files."""
    attempt: int
    """Number of the attempt, from 1. It grows each time another worker group resumes the trial."""
    step: int | None = None
    steps: int | None = None
    loss: float | None = None
    rung: int | None = None
    scores: dict[str, float] = field(default_factory=dict)
    """Development score of each goal at the trial's last rung."""


class StudyState(Callback):
    """State that callbacks may read. It is updated before each call of them. The ledger is read once, at the start."""

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
        """Trials that may run at the same time."""
        self.remaining = remaining
        """Returns the number of trials without a record, including the running ones."""
        self.waiting = waiting
        """Returns the queued trials that run next, as far as the search has chosen them."""
        self.ahead = ahead
        """Returns the outlook on the trials to come, as many as the study's limits allow."""
        self.seconds_left = seconds_left
        """Returns the seconds left of the study's limit in minutes, after which no trial begins; infinite without such
        a limit."""
        records, _ = ledger.sift()
        self.statuses: dict[str, str] = {record.key: record.status for record in records}
        """Status by trial key, of all records including those of this run."""
        self.failures = {failure.key for failure in read_failures(plan.results)} - self.statuses.keys()
        """Keys of trials that failed, also in earlier runs, and have not begun again since."""
        self.events = 0
        """Number of events so far in this run of the study."""
        self.running: dict[str, RunningTrial] = {}
        """Running trials by key, in the order in which they began."""
        self.orphans: dict[str, Trial] = {}
        """Trials whose worker group died, by key, until another group resumes them."""
        self.failed_starts = ""
        """`the last 3 starts failed: ImportError: ...` while no worker group starts, else empty."""
        self.ended = 0
        """Trials that ended in this run of the study, with or without a record."""
        self.failed_now = 0
        """Trials that failed in this run of the study."""
        self._total = remaining()
        self.began = time.monotonic()
        self._attempts: dict[str, int] = {}
        self._stages: dict[str, float] = {}  # when the first trial of each stage began
        self._times = TimeLeft(records, at_once)
        self._coming = self.coming
        self._forecast: tuple[float, Forecast] | None = None

    @property
    def seconds(self) -> float:
        """Seconds since this run of the study began."""
        return time.monotonic() - self.began

    @property
    def total(self) -> int:
        """Number of trials of this run. In a race over seeds it is an upper bound, which falls as recipes drop out."""
        return min(self._total, self.ended + self.remaining())

    @property
    def queued(self) -> int:
        """Number of trials that have not begun."""
        return max(0, self.remaining() - len(self.running))

    @property
    def coming(self) -> int:
        """Number of queued trials that will begin. The study's limits may not allow all of them."""
        return min(self.queued, self.ahead().trial_count)

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
            run.group.pace.stepped(time.monotonic(), step, steps)

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
        """Return whether the trial runs and has reported its last planned step."""
        run = self.running.get(key)
        return run is not None and run.step is not None and run.step == run.steps

    def counts(self) -> dict[str, int]:
        """Return the number of trials by state."""
        ended = Counter(self.statuses.values())
        return {
            "queued": self.queued,
            "running": len(self.running),
            "finished": ended["finished"],
            "stopped": ended["pruned"],
            "failed": len(self.failures),
        }

    def forecast(self) -> Forecast:
        """Return the forecast of the study's end, at most `REFRESH_SECONDS` old."""
        clock = time.monotonic()
        if self._forecast is None or clock - self._forecast[0] >= REFRESH_SECONDS:
            self._pass_time()
            ahead = self.ahead()
            self._coming = min(self.queued, ahead.trial_count)
            running = [(run.group, cost_key(run.trial.recipe_hash, run.trial.seed)) for run in self.running.values()]
            forecast = self._times.forecast(clock, running, ahead)
            if forecast.seconds is None and ahead.seconds_left < math.inf:  # a search uses all the time
                forecast = dataclasses.replace(forecast, seconds=max(0.0, ahead.seconds_left))
            self._forecast = clock, forecast
        at, forecast = self._forecast
        return forecast.after(clock - at)

    def stages(self) -> list[StageTime]:
        """Return the stages of this run with their times; empty if the times are unknown, or if there is only one."""
        forecast, clock = self.forecast(), time.monotonic()
        if forecast.seconds is None:
            return []
        times, before = [], 0.0
        for index, stage in enumerate(STAGES):
            began = self._stages.get(stage)
            later = [self._stages[name] for name in STAGES[index + 1 :] if name in self._stages]
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
