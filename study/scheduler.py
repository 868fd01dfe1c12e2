"""Stopping explored trials early, without killing them.

Tune's own ASHA decides. Its verdict is written beside the study for each rung, the trial's workers read it and
return by themselves: a trial that Tune stops from outside can keep its workers' resources for good.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, TrialScheduler

from study.worker import METRIC, RUNG
from trainables.training.loop import RUNGS


def answer_path(results: Path, key: str, rung: int) -> Path:
    """Where the verdict on a trial's rung is written."""
    return results / "rungs" / f"{key}-{rung}"


class PolledASHA(FIFOScheduler):
    """Asynchronous successive halving over rungs; stopped trials end by polling."""

    def __init__(self, results: Path) -> None:
        super().__init__()
        self.results = results
        self.asha: Any = ASHAScheduler(
            time_attr=RUNG, metric=METRIC, mode="max", max_t=RUNGS, grace_period=1, reduction_factor=3
        )
        self.stopped: set[str] = set()

    def on_trial_add(self, tune_controller: Any, trial: Any) -> None:
        if trial.config["tasks"][0]["scheduled"]:
            self.asha.on_trial_add(tune_controller, trial)

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        task = trial.config["tasks"][0]
        rung = result[RUNG]
        if task["scheduled"] and rung > 0:
            last = rung >= RUNGS  # the training is over anyway: nothing is saved by stopping now
            verdict = TrialScheduler.CONTINUE if last else self.asha.on_trial_result(tune_controller, trial, result)
            self._answer(trial.config["key"], rung, "stop" if verdict == TrialScheduler.STOP else "continue")
        return TrialScheduler.CONTINUE

    def _answer(self, key: str, rung: int, verdict: str) -> None:
        path = answer_path(self.results, key, rung)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".tmp")
        part.write_text(verdict)
        part.replace(path)
