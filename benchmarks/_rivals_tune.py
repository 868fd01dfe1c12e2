"""Tune's stock search and scheduler as a replayed search: `OptunaSearch`, and `ASHAScheduler` or nobody that stops."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._rivals_told import Rival
from study.replay.recorded import Recorded
from study.search.distributions import suggest
from trainables.recipe import Value

if TYPE_CHECKING:
    from ray.tune.schedulers import TrialScheduler


@dataclass(frozen=True)
class _Trial:
    """All that the scheduler reads of one of Tune's trials."""

    trial_id: str


class TuneSearch(Rival):
    """`OptunaSearch` with its own defaults, told what Tune's controller tells it at the end of a trial; a trial that
    was stopped ends with its last report. With several seeds it is told their mean, as Tune's `Repeater` does.

    It is given the space as a function, so that it asks for conditional keys as our search does.
    """

    def __init__(
        self,
        recorded: Recorded,
        stops: Sequence[float],
        seeds: Sequence[int],
        halving: Mapping[str, Any] | None,
        seed: int,
    ) -> None:
        """`halving`: what `ASHAScheduler` is given beside metric and mode; None for Tune's own FIFO."""
        import optuna
        from ray.tune.schedulers import ASHAScheduler, FIFOScheduler
        from ray.tune.search.optuna import OptunaSearch

        super().__init__(recorded, stops, seeds)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
        np.random.seed(seed)  # the scheduler draws its bracket from it
        (self.goal,) = recorded.goals
        self.search = OptunaSearch(self._space, metric=self.goal, mode="max", seed=seed)
        self.ended: dict[str, list[dict[str, Any] | None]] = {}
        """By recipe, the last reports of its trials."""
        self.scheduler: TrialScheduler = (
            FIFOScheduler() if halving is None else ASHAScheduler(metric=self.goal, mode="max", **halving)
        )

    def _space(self, trial: Any) -> None:
        chosen = self.recorded.base.flat()
        for domain in self.recorded.space.domains:
            if domain.is_asked(chosen):
                chosen[domain.key] = suggest(trial, domain)

    def ask(self, name: str) -> Mapping[str, Value]:
        suggested: Mapping[str, Value] = self.search.suggest(name)
        self.ended[name] = []
        return suggested

    def begin(self, name: str, trial: str) -> None:
        self.scheduler.on_trial_add(None, _Trial(trial))

    def report(self, name: str, trial: str, result: dict[str, Any], *, last: bool) -> bool:
        from ray.tune.schedulers import TrialScheduler

        if self.scheduler.on_trial_result(None, _Trial(trial), result) != TrialScheduler.STOP and not last:
            return True
        self.end(name, trial, result)
        return False

    def end(self, name: str, trial: str, result: dict[str, Any] | None) -> None:
        ended = self.ended[name]
        ended.append(result)
        if len(ended) < len(self.seeds):
            return
        there = [each for each in ended if each is not None]
        result = {self.goal: fmean(each[self.goal] for each in there)} if there else None
        self.search.on_trial_complete(name, result, error=not there)
