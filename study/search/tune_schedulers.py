"""Schedulers of Ray Tune's as schedulers of a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from study.search.schedulers import Scheduler, Setting

RUNG = "rung"
"""What such a scheduler is told: the number of the rung, from 1 on."""
METRIC, RESOURCE = "selection", "resource"
"""And the first goal's score there, and how much training was seen."""


def from_tune(build: Callable[[Setting], TrialScheduler]) -> Callable[[Setting], Scheduler]:
    """A scheduler of Ray Tune's as one of ours; for a `SchedulerEntry`:

        from_tune(lambda setting: MedianStoppingRule(RUNG, METRIC, "max", grace_period=1))

    It is told at each rung `METRIC`, which it maximises, `RUNG` (from 1 on) and `RESOURCE` (how much of the
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
