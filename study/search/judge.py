"""Stopping explored trials early, without killing them.

A scheduler decides. Its verdict on each rung goes to the trial's crew, which ends the training by itself and goes on to
the next trial: one that Tune stops from outside would take its crew with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from study.search.schedulers import Scheduler, Setting
from study.trial import METRIC, RESOURCE, RUNG, VALUES


class Judge(FIFOScheduler):
    """Asks a scheduler about each rung of the trials that may be stopped, and tells its verdict."""

    def __init__(self, scheduler: Scheduler, tell: Callable[[str, int, bool], object]) -> None:
        """`tell` is given a trial's key, the rung, and whether the trial goes on."""
        super().__init__()
        self.scheduler, self.tell = scheduler, tell
        self.verdicts: dict[tuple[str, int], bool] = {}

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Tune itself is always told to continue."""
        first, rung = trial.config["trials"][0], result[RUNG]
        if first["rungs"] and rung > 0:
            where = first["key"], rung
            if where not in self.verdicts:  # a trial that is begun again, as its crew died, is not judged again
                self.verdicts[where] = self.scheduler.goes_on(*where, result[VALUES])
            self.tell(*where, self.verdicts[where])
        return TrialScheduler.CONTINUE


def from_tune(build: Callable[[Setting], TrialScheduler]) -> Callable[[Setting], Scheduler]:
    """A scheduler of Ray Tune's as one of ours; for a `SchedulerEntry`:

        from_tune(lambda setting: MedianStoppingRule(RUNG, METRIC, "max", grace_period=1))

    It is told at each rung `study.trial.METRIC`, which it maximises, `RUNG` (from 1 on) and `RESOURCE` (how much of the
    training was seen), and may stop a trial or not: one that pauses trials lets them go on.
    """
    return lambda setting: _FromTune(build(setting), setting)


class _FromTune:
    def __init__(self, scheduler: TrialScheduler, setting: Setting) -> None:
        self.scheduler, self.setting = scheduler, setting
        self.trials: dict[str, Trial] = {}
        self.controller: Any = SimpleNamespace(get_live_trials=list)  # Tune's own, as far as such a scheduler needs it

    def goes_on(self, trial: str, rung: int, values: Sequence[float]) -> bool:
        if trial not in self.trials:
            self.trials[trial] = Trial("trial", trial_id=trial, stub=True)
            self.scheduler.on_trial_add(self.controller, self.trials[trial])
        result = {
            METRIC: values[0],
            RUNG: rung,
            RESOURCE: self.setting.rungs[rung - 1],
            "training_iteration": rung,
            "trial_id": trial,
        }
        known = self.trials[trial]
        known.update_last_result(result)
        return self.scheduler.on_trial_result(self.controller, known, result) != TrialScheduler.STOP
