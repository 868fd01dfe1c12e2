"""Syne Tune's schedulers as replayed searches."""

from __future__ import annotations

import datetime
import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks._rivals_told import Rival
from study.replay.recorded import Recorded
from study.replay.syne_tune import FIDELITY, described
from trainables.errors import UserError
from trainables.recipe import Value

Space = dict[str, Any]
"""Syne Tune's domains by key."""
Make = Callable[[Space, Sequence[str], Sequence[float], int], Any]
"""A scheduler from a space, the goals, the steps at which trials report, and a seed."""


class SyneTuneSearch(Rival):
    """A scheduler of Syne Tune, told what its `Tuner` would tell it. Its space is that of the exported record."""

    def __init__(self, recorded: Recorded, stops: Sequence[float], seeds: Sequence[int], make: Make, seed: int) -> None:
        from syne_tune.backend.trial_status import Trial

        super().__init__(recorded, stops, seeds)
        logging.getLogger("syne_tune").setLevel(logging.ERROR)
        np.random.seed(seed)  # some of its random numbers come from there
        self.scheduler = make(space_of(recorded), recorded.goals, stops, seed)
        self.configs: dict[str, dict[str, Value]] = {}
        self.trials: dict[str, Trial] = {}

    def ask(self, name: str) -> Mapping[str, Value]:
        config: dict[str, Value] = self.scheduler.suggest().config
        self.configs[name] = config
        return config

    def begin(self, name: str, trial: str) -> None:
        from syne_tune.backend.trial_status import Trial

        self.trials[trial] = Trial(int(trial), self.configs[name], datetime.datetime.now())
        self.scheduler.on_trial_add(self.trials[trial])

    def report(self, name: str, trial: str, result: dict[str, Any], *, last: bool) -> bool:
        from syne_tune.optimizer.scheduler import SchedulerDecision

        if self.scheduler.on_trial_result(self.trials[trial], result) == SchedulerDecision.STOP:
            self.scheduler.on_trial_remove(self.trials[trial])
            return False
        if last:
            self.end(name, trial, result)
        return not last

    def end(self, name: str, trial: str, result: dict[str, Any] | None) -> None:
        if result is None:
            self.scheduler.on_trial_error(self.trials[trial])
        else:
            self.scheduler.on_trial_complete(self.trials[trial], result)


def space_of(recorded: Recorded) -> Space:
    """The space that the export describes, as Syne Tune reads it."""
    try:
        from syne_tune.config_space import config_space_from_json_dict
    except ImportError as error:
        raise UserError(f"Syne Tune is not installed ({error}); pip install --no-deps syne-tune==0.16.0") from None
    space: Space = config_space_from_json_dict({domain.key: described(domain) for domain in recorded.space.domains})
    return space


def made(kind: str, factor: int | None) -> Make:
    """By a name of `MAKES`, and with this factor between rungs."""
    return functools.partial(MAKES[kind], factor)


def _random(factor: None, space: Space, goals: Sequence[str], stops: Sequence[float], seed: int) -> Any:
    from syne_tune.optimizer.schedulers.single_fidelity_scheduler import SingleFidelityScheduler

    drawn = {"random_seed": seed}
    return SingleFidelityScheduler(space, metrics=list(goals), do_minimize=False, searcher_kwargs=drawn)


def _asha(factor: int, space: Space, goals: Sequence[str], stops: Sequence[float], seed: int) -> Any:
    from syne_tune.optimizer.baselines import ASHA

    return ASHA(space, metric=goals[0], **_halving(factor, stops), random_seed=seed)


def _bohb(factor: int, space: Space, goals: Sequence[str], stops: Sequence[float], seed: int) -> Any:
    from syne_tune.optimizer.baselines import BOHB

    return BOHB(space, metric=goals[0], **_halving(factor, stops), random_seed=seed)


def _asha_cqr(factor: int, space: Space, goals: Sequence[str], stops: Sequence[float], seed: int) -> Any:
    from syne_tune.optimizer.baselines import ASHACQR

    return ASHACQR(space, metric=goals[0], **_halving(factor, stops), random_seed=seed)


def _halving(factor: int, stops: Sequence[float]) -> dict[str, Any]:
    return {
        "time_attr": FIDELITY,
        "max_t": int(stops[-1]),
        "grace_period": int(stops[0]),
        "reduction_factor": factor,
        "do_minimize": False,
    }


MAKES: dict[str, Callable[..., Any]] = {
    "random": _random,
    "asha": _asha,
    "bohb": _bohb,
    "asha_cqr": _asha_cqr,
}
