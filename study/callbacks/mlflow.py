"""MLflow: a run a trial, in the experiment that is called as the space. Asked for by `MLFLOW_TRACKING_URI`."""

from __future__ import annotations

import importlib.util
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from reports.ledger import Record
from study.callbacks.background import Aside
from study.callbacks.base import Outlook, Watcher
from study.callbacks.tracker import measured, name_of, parameters, rung_metrics, study_of, trial_id
from study.cli.terminal import printable
from study.trial import Trial

EVERY_SECONDS = 5.0
"""How often points are sent: one request a trial."""
TOGETHER = 100
"""Parameters that a server takes at once; of metrics it takes more."""
T = TypeVar("T")
LOSS = "train/loss"
TRIAL, REASON = "trial_id", "reason"
"""Tags: what a trial is found by when its study is continued, and why it has no scores."""


def build(outlook: Outlook) -> Watcher | None:
    """None where MLflow is not asked for, or not installed."""
    if not os.environ.get("MLFLOW_TRACKING_URI") or importlib.util.find_spec("mlflow") is None:
        return None
    plan, study = outlook.plan, study_of(outlook.plan)
    return Aside("MLflow", lambda: MLflow(plan.space.name, study, plan.place.at("")))


@dataclass
class _Run:
    """A trial's run that has not ended."""

    id: str
    step: int
    """The last that was told."""
    waiting: list[tuple[str, float, int, int]] = field(default_factory=list)
    """Metrics to send: name, value, time in milliseconds, step."""


class MLflow(Watcher):
    """Its calls wait for a server, so a study calls it through `Aside`."""

    def __init__(self, space: str, study: str, results: str) -> None:
        """`study` tells it from others in the same experiment; `results` is where they are."""
        from mlflow import MlflowClient, entities

        self.study, self.entities = study, entities
        self.client = MlflowClient()
        found = self.client.get_experiment_by_name(space)
        self.experiment = found.experiment_id if found else self.client.create_experiment(space)
        self.tags = {"space": space, "results": results}
        self.runs: dict[str, _Run] = {}
        self.sent = time.monotonic()

    def started(self, trials: Sequence[Trial]) -> None:
        for trial in trials:
            self._run(trial)

    def step(self, trial: Trial, step: int, steps: int, scalars: Mapping[str, float]) -> None:
        run = self._run(trial)
        if step > run.step:  # one that is repeated after an interruption is there already
            self._add(run, step, {f"train/{name}": value for name, value in scalars.items()})
            run.step = step

    def rung(self, trial: Trial, number: int, scores: Mapping[str, float]) -> None:
        run = self._run(trial)
        self._add(run, run.step, rung_metrics(number, scores))

    def finished(self, trial: Trial, record: Record) -> None:
        run = self._run(trial)
        self._add(run, run.step, measured(record))
        if record.status == "finished":
            self._end(trial.key, "FINISHED")
        else:
            self._end(trial.key, "KILLED", str(record.training.get("stopped")))

    def failed(self, trial: Trial, reason: str) -> None:
        self._run(trial)
        self._end(trial.key, "FAILED", reason)

    def tick(self) -> None:
        if time.monotonic() - self.sent > EVERY_SECONDS:
            for run in self.runs.values():
                self._send(run)
            self.sent = time.monotonic()

    def close(self) -> None:
        for key in list(self.runs):
            self._end(key, "KILLED", "the study was stopped; run it again to continue")

    def _run(self, trial: Trial) -> _Run:
        """The trial's run: the one that is open, that of an earlier run of the study, or a new one."""
        if trial.key not in self.runs:
            digest = trial_id(self.study, trial.key)
            found = self.client.search_runs([self.experiment], f"tags.{TRIAL} = '{digest}'", max_results=1)
            self.runs[trial.key] = self._continued(found[0]) if found else self._new(trial, digest)
        return self.runs[trial.key]

    def _continued(self, run: Any) -> _Run:
        self.client.update_run(run.info.run_id, status="RUNNING")
        if REASON in run.data.tags:
            self.client.delete_tag(run.info.run_id, REASON)
        points = self.client.get_metric_history(run.info.run_id, LOSS)
        return _Run(run.info.run_id, max((point.step for point in points), default=0))

    def _new(self, trial: Trial, digest: str) -> _Run:
        own = {TRIAL: digest, "key": trial.key, "recipe": trial.recipe_hash, "label": printable(trial.name)}
        run = self.client.create_run(self.experiment, tags={**self.tags, **own}, run_name=name_of(trial))
        found = [self.entities.Param(_allowed(key), str(value)) for key, value in parameters(trial).items()]
        for some in _parts(found):
            self.client.log_batch(run.info.run_id, params=some)
        return _Run(run.info.run_id, 0)

    def _add(self, run: _Run, step: int, values: Mapping[str, float]) -> None:
        now = int(time.time() * 1000)
        run.waiting += [(_allowed(name), float(value), now, step) for name, value in values.items()]

    def _send(self, run: _Run) -> None:
        waiting, run.waiting = run.waiting, []
        for some in _parts(waiting):
            self.client.log_batch(run.id, metrics=[self.entities.Metric(*point) for point in some])

    def _end(self, key: str, status: str, reason: str = "") -> None:
        run = self.runs.pop(key)
        self._send(run)
        if reason:
            self.client.set_tag(run.id, REASON, printable(reason))
        self.client.set_terminated(run.id, status)


def _parts(items: Sequence[T]) -> list[Sequence[T]]:
    return [items[start : start + TOGETHER] for start in range(0, len(items), TOGETHER)]


def _allowed(name: str) -> str:
    """A name as MLflow takes it."""
    return re.sub(r"[^\w/.\- :]", "_", name)
