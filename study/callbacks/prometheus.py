"""A study's metrics in Ray's metrics, for its dashboard, Prometheus and Grafana (`deploy/grafana/study.json`). Ray puts
`ray_` before their names."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ray.util.metrics import Gauge

from reports.ledger import Record
from search_spaces.limits import exceeded
from study.callbacks.base import Callback
from study.callbacks.state import StudyState
from study.trial import Trial

EVERY_SECONDS = 5.0
"""Seconds between updates; Ray itself sends metrics every 10 s."""
GAUGES = {
    "ses_trials": ("Trials of a study, by state", ("state",)),
    "ses_best_score": (
        "The best value of each goal so far: of a score the highest, in percent; of a cost the lowest",
        ("goal",),
    ),
    "ses_steps_per_second": ("Training steps a second, all running trials together", ()),
    "ses_tokens_per_second": ("Tokens a second, all running trials that train alone together", ()),
    "ses_crew_seconds": ("What worker groups have spent their time on, over the trials of this run", ("what",)),
    "ses_busy_share": ("Share of the worker groups' time in which they trained or encoded", ()),
}
"""Maps the name of each metric to its description, and its tags in addition to the space and the study's folder."""


@dataclass
class _Pace:
    """The training speed of a trial."""

    step: int
    at: float
    """Time of the measurement, on the monotonic clock."""
    steps: float = 0.0
    tokens: float = 0.0
    """Tokens a second. The field `steps` has steps a second."""


class Prometheus(Callback):
    """A study's gauges. They always exist, and Ray sends them if asked for metrics. Unknown numbers are not set."""

    def __init__(self, state: StudyState) -> None:
        plan = state.plan
        self.state = state
        own = {"space": plan.space.name, "study": plan.location.address_of("").rstrip("/").rpartition("/")[2]}
        self.gauges = {
            name: Gauge(name, meaning, (*own, *tags)).set_default_tags(own) for name, (meaning, tags) in GAUGES.items()
        }
        self.goals, self.limits = plan.space.searched_goals, plan.limits
        self.best: dict[str, float] = {}
        self.paces: dict[str, _Pace | None] = {}  # of running trials; None before the first step
        self.crew: Counter[str] = Counter()
        for record in state.ledger.read():
            self._compare(record)
        self.written = float("-inf")

    def started(self, trials: Sequence[Trial]) -> None:
        self.paces |= {trial.key: None for trial in trials}
        self.written = float("-inf")

    def interrupted(self, trials: Sequence[Trial]) -> None:
        for trial in trials:
            self._ended(trial)

    def step(self, trial: Trial, step: int, steps: int, scalars: Mapping[str, float]) -> None:
        now, before = time.monotonic(), self.paces.get(trial.key)
        pace = self.paces[trial.key] = _Pace(step, now)
        if before is not None and step < steps:  # after the last step the trial is evaluated
            pace.steps = max(0, step - before.step) / max(now - before.at, 1e-3)
            pace.tokens = scalars.get("tokens_per_second", 0.0)

    def finished(self, trial: Trial, record: Record) -> None:
        self._compare(record)
        self.crew.update(record.cost.get("crew", {}))
        self._ended(trial)

    def failed(self, trial: Trial, reason: str) -> None:
        self._ended(trial)

    def tick(self) -> None:
        if time.monotonic() - self.written > EVERY_SECONDS:
            self._write()

    def close(self) -> None:
        self.paces.clear()
        self._write()

    def _ended(self, trial: Trial) -> None:
        self.paces.pop(trial.key, None)
        self.written = float("-inf")

    def _compare(self, record: Record) -> None:
        if record.status != "finished" or exceeded(self.limits, [record.cost]):
            return
        for goal in self.goals:
            value = goal.of(record.scores, record.cost)
            if value is not None:
                self.best[goal.name] = max(value, self.best.get(goal.name, value), key=goal.upward)

    def _write(self) -> None:
        self.written = time.monotonic()
        for name, number in self.state.counts().items():
            self.gauges["ses_trials"].set(number, {"state": name})
        for goal, score in self.best.items():
            self.gauges["ses_best_score"].set(score, {"goal": goal})
        paces = [pace for pace in self.paces.values() if pace is not None]
        self.gauges["ses_steps_per_second"].set(math.fsum(pace.steps for pace in paces))
        self.gauges["ses_tokens_per_second"].set(math.fsum(pace.tokens for pace in paces))
        for what, seconds in self.crew.items():
            self.gauges["ses_crew_seconds"].set(seconds, {"what": what})
        spent = math.fsum(self.crew.values())
        if spent:
            self.gauges["ses_busy_share"].set(self.crew["busy"] / spent)
