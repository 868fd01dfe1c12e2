"""Weights & Biases: a run a trial, in the project that is called as the space. Asked for by `WANDB_API_KEY` or
`WANDB_MODE`.

With `WANDB_MODE=offline` the runs lie in `RESULTS/wandb`, for `wandb sync`.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reports.ledger import Record
from reports.ledger.names import to_write
from study.callbacks.background import Aside
from study.callbacks.base import Outlook, Watcher
from study.callbacks.tracker import measured, name_of, parameters, rung_metrics, study_of, trial_id
from study.cli.terminal import printable
from study.trial import Trial

LONGEST_GROUP = 120
"""Characters of a label; Weights & Biases takes 128."""


def build(outlook: Outlook) -> Watcher | None:
    """None where Weights & Biases is not asked for, or not installed."""
    asked = os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_MODE")
    if not asked or importlib.util.find_spec("wandb") is None:
        return None
    plan, study = outlook.plan, study_of(outlook.plan)
    return Aside("Weights & Biases", lambda: WeightsAndBiases(plan.space.name, study, plan.results))


class WeightsAndBiases(Watcher):
    """Its calls wait for a server, so a study calls it through `Aside`."""

    def __init__(self, space: str, study: str, folder: Path) -> None:
        """`study` tells it from others in the same project; in `folder` the runs are kept that are not sent."""
        import wandb

        to_write(folder, "wandb")
        self.wandb = wandb
        self.project = re.sub(r"[/\\\\#?%:]", "-", space)
        self.study, self.folder = study, folder
        self.runs: dict[str, Any] = {}
        self.steps: dict[str, int] = {}  # the last that was told, by trial

    def started(self, trials: Sequence[Trial]) -> None:
        for trial in trials:
            self._run(trial)

    def step(self, trial: Trial, step: int, steps: int, scalars: Mapping[str, float]) -> None:
        run = self._run(trial)
        if step > self.steps[trial.key]:  # one that is repeated after an interruption is there already
            run.log({f"train/{name}": value for name, value in scalars.items()}, step=step)
            self.steps[trial.key] = step

    def rung(self, trial: Trial, number: int, scores: Mapping[str, float]) -> None:
        run = self._run(trial)
        run.log(rung_metrics(number, scores), step=self.steps[trial.key])

    def finished(self, trial: Trial, record: Record) -> None:
        self._run(trial).log(measured(record), step=self.steps[trial.key])
        self._end(trial.key, record.status, record.training.get("stopped") or "")

    def failed(self, trial: Trial, reason: str) -> None:
        self._run(trial)
        self._end(trial.key, "failed", reason)

    def close(self) -> None:
        for key in list(self.runs):
            self.runs[key].mark_preempting()
            self._end(key, "interrupted", "the study was stopped; run it again to continue")
        self.wandb.teardown()  # its own process writes what it has: an ended run may not be in its file yet

    def _run(self, trial: Trial) -> Any:
        """The trial's open run. A server continues that of an earlier run of the study, which has the same id."""
        if trial.key not in self.runs:
            run = self.wandb.init(
                project=self.project,
                dir=self.folder,
                id=trial_id(self.study, trial.key),
                resume="allow",
                name=name_of(trial),
                group=printable(trial.name)[:LONGEST_GROUP],
                config={"key": trial.key, "recipe": trial.recipe_hash, **parameters(trial)},
                reinit="create_new",
                settings=self.wandb.Settings(silent=True, console="off", x_disable_stats=True),
            )
            self.runs[trial.key], self.steps[trial.key] = run, run.step - 1 if run.resumed else 0
        return self.runs[trial.key]

    def _end(self, key: str, status: str, reason: str) -> None:
        run = self.runs.pop(key)
        del self.steps[key]
        run.summary.update({"status": status, "reason": printable(reason)})
        run.finish(exit_code=int(status in ("failed", "interrupted")))
