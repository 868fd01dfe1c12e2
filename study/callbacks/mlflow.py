"""MLflow: an experiment per study and a run per trial. Used if `MLFLOW_TRACKING_URI` is set."""

from __future__ import annotations

import importlib.util
import os
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from study.callbacks.background import InBackground
from study.callbacks.base import Callback
from study.callbacks.state import StudyState
from study.callbacks.tracker import Tracker, TrackerRun, group_of, name_of, parameters, study_of, trial_id
from study.cli.terminal import printable
from study.plan import Plan
from study.trial import Trial

EVERY_SECONDS = 5.0
"""Seconds between two requests that send the buffered points of a trial."""
TOGETHER = 100
"""Number of parameters that a server accepts in one request. It accepts more metrics."""
STATUSES = {"finished": "FINISHED", "failed": "FAILED"}
"""MLflow's names of statuses. Any other end is `KILLED`."""
T = TypeVar("T")
LOSS = "train/loss"
TRIAL, REASON = "trial_id", "reason"
"""Names of tags: the id by which a continued study finds the trial's run, and why the trial has no scores."""


def build(state: StudyState) -> Callback | None:
    """Return the callback; None if MLflow is not configured or not installed."""
    if not os.environ.get("MLFLOW_TRACKING_URI") or importlib.util.find_spec("mlflow") is None:
        return None
    return InBackground("MLflow", lambda: MLflow(state.plan))


class MLflow(Tracker["MLflowRun"]):
    """The MLflow tracker. Its calls wait for a server, so a study calls it through `InBackground`."""

    def __init__(self, plan: Plan) -> None:
        from mlflow import MlflowClient, entities

        super().__init__(plan.space.searched_goals)
        self.study, self.entities = study_of(plan), entities
        self.client, group = MlflowClient(), group_of(plan)
        experiment = self.client.get_experiment_by_name(group)
        self.experiment = experiment.experiment_id if experiment else self.client.create_experiment(group)
        self.tags = {"space": plan.space.name, "results": plan.location.address_of("")}
        self.sent = time.monotonic()

    def tick(self) -> None:
        if time.monotonic() - self.sent > EVERY_SECONDS:
            for run in self.runs.values():
                run.send()
            self.sent = time.monotonic()

    def open(self, trial: Trial) -> MLflowRun:
        digest = trial_id(self.study, trial.key)
        runs = self.client.search_runs([self.experiment], f"tags.{TRIAL} = '{digest}'", max_results=1)
        return self._continued(runs[0]) if runs else self._new(trial, digest)

    def _continued(self, run: Any) -> MLflowRun:
        self.client.update_run(run.info.run_id, status="RUNNING")
        if REASON in run.data.tags:
            self.client.delete_tag(run.info.run_id, REASON)
        points = self.client.get_metric_history(run.info.run_id, LOSS)
        return MLflowRun(self.client, run.info.run_id, max((point.step for point in points), default=0))

    def _new(self, trial: Trial, digest: str) -> MLflowRun:
        own = {TRIAL: digest, "key": trial.key, "recipe": trial.recipe_hash, "label": printable(trial.name)}
        run = self.client.create_run(self.experiment, tags={**self.tags, **own}, run_name=name_of(trial))
        params = [self.entities.Param(_allowed(key), str(value)) for key, value in parameters(trial).items()]
        for some in _parts(params):
            self.client.log_batch(run.info.run_id, params=some)
        return MLflowRun(self.client, run.info.run_id, 0)


class MLflowRun(TrackerRun):
    """A trial's run. Buffers points and sends many at once."""

    def __init__(self, client: Any, id: str, step: int) -> None:
        self.client, self.id, self.step = client, id, step
        self.waiting: list[Any] = []

    def log(self, values: Mapping[str, float], step: int) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        self.waiting += [Metric(_allowed(name), float(value), now, step) for name, value in values.items()]

    def send(self) -> None:
        """Send the buffered points."""
        waiting, self.waiting = self.waiting, []
        for some in _parts(waiting):
            self.client.log_batch(self.id, metrics=some)

    def end(self, status: str, reason: str) -> None:
        self.send()
        if reason:
            self.client.set_tag(self.id, REASON, reason)
        self.client.set_terminated(self.id, STATUSES.get(status, "KILLED"))


def _parts(items: Sequence[T]) -> list[Sequence[T]]:
    return [items[start : start + TOGETHER] for start in range(0, len(items), TOGETHER)]


def _allowed(name: str) -> str:
    """Return the name with only characters that MLflow allows."""
    return re.sub(r"[^\w/.\- :]", "_", name)
