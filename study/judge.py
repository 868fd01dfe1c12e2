"""Stopping explored trials early, without killing them.

A Tune scheduler decides. Its verdict on each rung goes to the trial's crew, which ends the training by itself and goes
on to the next trial: one that Tune stops from outside would take its crew with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, TrialScheduler

from study.spec import METRIC, RUNG
from trainables.training.loop import RUNGS


def none() -> TrialScheduler:
    """Every trial runs to its end."""
    return FIFOScheduler()


def asha() -> TrialScheduler:
    """Asynchronous successive halving over rungs: of three trials at a rung one goes on."""
    return ASHAScheduler(time_attr=RUNG, metric=METRIC, mode="max", max_t=RUNGS, grace_period=1, reduction_factor=3)


class Judge(FIFOScheduler):
    """Asks another scheduler about each rung of the trials that may be stopped, and tells its verdict."""

    def __init__(self, scheduler: TrialScheduler, tell: Callable[[str, int, bool], object]) -> None:
        """`tell` is given a trial's key, the rung, and whether the trial goes on."""
        super().__init__()
        self.scheduler, self.tell = scheduler, tell

    def on_trial_add(self, tune_controller: Any, trial: Any) -> None:
        if _may_be_stopped(trial):
            self.scheduler.on_trial_add(tune_controller, trial)

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Tune itself is always told to continue."""
        rung = result[RUNG]
        if _may_be_stopped(trial) and rung > 0:
            last = rung >= RUNGS  # the training is over anyway: nothing is saved by stopping now
            goes_on = last or self.scheduler.on_trial_result(tune_controller, trial, result) != TrialScheduler.STOP
            self.tell(trial.config["trials"][0]["key"], rung, goes_on)
        return TrialScheduler.CONTINUE


def _may_be_stopped(trial: Any) -> bool:
    return bool(trial.config["trials"][0]["scheduled"])
