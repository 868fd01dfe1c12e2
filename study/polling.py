"""Stopping explored trials early, without killing them.

A Tune scheduler decides. Its verdict on each rung is written beside the study; the trial's workers read it and
return by themselves: a trial that Tune stops from outside can keep its workers' resources for good.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, TrialScheduler

from study.spec import METRIC, RUNG, answer_path
from trainables.files import write_whole
from trainables.training.loop import RUNGS


def none() -> TrialScheduler:
    """Every trial runs to its end."""
    return FIFOScheduler()


def asha() -> TrialScheduler:
    """Asynchronous successive halving over rungs: of three trials at a rung one goes on."""
    return ASHAScheduler(time_attr=RUNG, metric=METRIC, mode="max", max_t=RUNGS, grace_period=1, reduction_factor=3)


class PolledScheduler(FIFOScheduler):
    """Asks another scheduler about each rung of the trials that may be stopped; those end by polling its verdict."""

    def __init__(self, results: Path, judge: TrialScheduler) -> None:
        super().__init__()
        self.results, self.judge = results, judge

    def on_trial_add(self, tune_controller: Any, trial: Any) -> None:
        if _may_be_stopped(trial):
            self.judge.on_trial_add(tune_controller, trial)

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Tune itself is always told to continue."""
        rung = result[RUNG]
        if _may_be_stopped(trial) and rung > 0:
            last = rung >= RUNGS  # the training is over anyway: nothing is saved by stopping now
            verdict = TrialScheduler.CONTINUE if last else self.judge.on_trial_result(tune_controller, trial, result)
            word = "stop" if verdict == TrialScheduler.STOP else "continue"
            write_whole(answer_path(self.results, trial.config["key"], rung), word)
        return TrialScheduler.CONTINUE


def _may_be_stopped(trial: Any) -> bool:
    return bool(trial.config["trials"][0]["scheduled"])
