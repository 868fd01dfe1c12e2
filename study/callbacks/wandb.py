"""Weights & Biases: a group per study and a run per trial, in a project with the space's name. Used if `WANDB_API_KEY`
or `WANDB_MODE` is set.

With `WANDB_MODE=offline` the runs are in `RESULTS/wandb`, for `wandb sync`.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Mapping
from typing import Any

from reports.ledger.names import writable_path
from study.callbacks.background import InBackground
from study.callbacks.base import Callback
from study.callbacks.state import StudyState
from study.callbacks.tracker import Tracker, TrackerRun, group_of, name_of, parameters, study_of, trial_id
from study.plan import Plan
from study.trial import Trial


def build(state: StudyState) -> Callback | None:
    """Return the callback; None if Weights & Biases is not configured or not installed."""
    configured = os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_MODE")
    if not configured or importlib.util.find_spec("wandb") is None:
        return None
    return InBackground("Weights & Biases", lambda: WeightsAndBiases(state.plan))


class WeightsAndBiases(Tracker["WandbRun"]):
    """The Weights & Biases tracker. Its calls wait for a server, so a study calls it through `InBackground`."""

    def __init__(self, plan: Plan) -> None:
        import wandb

        super().__init__(plan.space.searched_goals)
        writable_path(plan.results, "wandb")
        self.wandb = wandb
        self.project = re.sub(r"[/\\\\#?%:]", "-", plan.space.name)
        self.group, self.study, self.folder = group_of(plan), study_of(plan), plan.results

    def open(self, trial: Trial) -> WandbRun:
        """Start the trial's run. If an earlier run of the study began it, the run is found by its id and continued."""
        run = self.wandb.init(
            project=self.project,
            dir=self.folder,
            id=trial_id(self.study, trial.key),
            resume="allow",
            name=name_of(trial),
            group=self.group,
            config={"key": trial.key, "recipe": trial.recipe_hash, **parameters(trial)},
            reinit="create_new",
            settings=self.wandb.Settings(silent=True, console="off", x_disable_stats=True),
        )
        return WandbRun(run, run.step - 1 if run.resumed else 0)

    def close(self) -> None:
        super().close()
        self.wandb.teardown()  # its own process writes buffered data: the file of an ended run may not be complete yet


class WandbRun(TrackerRun):
    """A trial's run. The library buffers unsent values."""

    def __init__(self, run: Any, step: int) -> None:
        self.run, self.step = run, step

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.run.log(dict(values), step=step)

    def end(self, status: str, reason: str) -> None:
        if status == "interrupted":
            self.run.mark_preempting()
        self.run.summary.update({"status": status, "reason": reason})
        self.run.finish(exit_code=int(status in ("failed", "interrupted")))
