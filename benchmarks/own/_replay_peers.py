"""Other searches in a replay: two recipes train at a time, and the recipe with the best development score wins.

A sampler's recipe is replaced by the nearest recorded recipe that was not tried (`Proposer`). An index is the position
of a recipe in the table of recorded recipes.

`tpe`: Optuna's default, which is sentence-transformers' `hyperparameter_search`; also with Optuna's pruners, which get
development scores at an eighth, a quarter and half of a training's steps. `first_rung`: random recipes train to their
first rung in the first half of the time. Then the best of them continue, one after another, while there is time.
"""

from __future__ import annotations

import heapq
import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.pruners import BasePruner, HyperbandPruner, NopPruner, SuccessiveHalvingPruner
from optuna.samplers import BaseSampler, GPSampler, RandomSampler, TPESampler
from optuna.trial import TrialState

from benchmarks.own._replay_table import PLACES, Replayed
from benchmarks.own._table import REST, RUNGS, WHOLE
from study.search.ask_tell import AskTell, memory_study
from study.search.samplers import SAMPLERS


class Proposer:
    """Proposes recorded recipes, each once."""

    def __init__(
        self,
        table: Replayed,
        sampler: BaseSampler,
        *,
        conditional: bool = True,
        pruner: BasePruner | None = None,
        first: Sequence[int] = (),
    ) -> None:
        """`first`: numbers of the recipes to propose first. `conditional`: see `SamplerEntry`."""
        self.study = memory_study(sampler)
        self.study.pruner = pruner or NopPruner()
        self.table = table
        self.ask_tell = AskTell(self.study, table.space_base, table.domains, conditional=conditional)
        self.first = [table.numbers.index(number) for number in first if number in table.numbers]
        self.tried: set[int] = set()
        self._sampler = sampler

    def has_more(self) -> bool:
        return len(self.tried) < len(self.table.recipes)

    def ask(self) -> tuple[optuna.Trial, int]:
        """Return Optuna's trial, and the position of its recipe in the table."""
        index = next((index for index in self.first if index not in self.tried), None)
        if index is None:
            draw, chosen = self.ask_tell.draw()
            self.study.tell(draw, state=TrialState.FAIL)
            index = self.table.nearest(chosen, self.tried)
        self.tried.add(index)
        self.ask_tell.enqueue(self.table.points[index])
        self.study.sampler = RandomSampler(0)  # all values are chosen, so no model is needed
        trial, _ = self.ask_tell.ask()
        self.study.sampler = self._sampler
        return trial, index

    def tell(self, trial: optuna.Trial, score: float | None) -> None:
        """Report the score of a proposed recipe; None if its training failed."""
        self.study.tell(trial, score, state=TrialState.FAIL if score is None else TrialState.COMPLETE)

    def add(self, index: int, score: float) -> None:
        """Report the score of a recipe that ran without being proposed."""
        self.tried.add(index)
        self.ask_tell.add(self.table.points[index], [score])


@dataclass(frozen=True)
class Peer:
    """A search: how it proposes recipes, and whether trainings pause at rungs."""

    name: str
    sampler: Callable[[int], BaseSampler]
    conditional: bool = True
    pruner: Callable[[], BasePruner] | None = None
    portfolio: bool = False
    """Whether the search starts with the portfolio of the other sets."""
    first_rung: bool = False
    """Whether half of the time is used for first rungs."""


def _tpe(seed: int) -> BaseSampler:
    return TPESampler(seed=seed)


def _gp(seed: int) -> BaseSampler:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return GPSampler(seed=seed, deterministic_objective=False, warn_independent_sampling=False)


PEERS = (
    Peer("random search", SAMPLERS["random"].build),
    Peer("TPE", _tpe),
    Peer("TPE, successive halving", _tpe, pruner=lambda: SuccessiveHalvingPruner(min_resource=1)),
    Peer("TPE, hyperband", _tpe, pruner=lambda: HyperbandPruner(max_resource=round(1 / RUNGS[0]))),
    Peer("Optuna's Gaussian process", _gp, conditional=False),
    Peer("best of the first rung", SAMPLERS["random"].build, first_rung=True),
    Peer("portfolio", SAMPLERS["random"].build, portfolio=True),
)


def search(table: Replayed, times: Sequence[float], first: Sequence[int], repeat: int, peer: Peer) -> list[int | None]:
    """Return the position of the best recipe after each of these times; None if no training has ended. Times are in
    whole trainings with the base settings, summed over the trainings that run at once."""
    limits = [time / PLACES for time in times]
    if peer.first_rung:
        return [_best(_first_rungs(table, limit, repeat, peer), limit) for limit in limits]
    ended = _whole(table, max(limits), first if peer.portfolio else (), repeat, peer)
    return [_best(ended, limit) for limit in limits]


Ended = tuple[float, float, int]
"""The time at which a whole training ended, its development score, and the position of its recipe."""


def _best(ended: Sequence[Ended], until: float) -> int | None:
    scores = [(score, index) for time, score, index in ended if time <= until]
    return max(scores)[1] if scores else None


def _whole(table: Replayed, until: float, first: Sequence[int], repeat: int, peer: Peer) -> list[Ended]:
    proposer = Proposer(
        table,
        peer.sampler(repeat),
        conditional=peer.conditional,
        pruner=peer.pruner() if peer.pruner else None,
        first=first,
    )
    pauses = [*RUNGS, 1.0] if peer.pruner else [1.0]
    seed, number = repeat % table.dev.shape[2], itertools.count()
    events: list[tuple[float, int, Any, int, int]] = []
    ended: list[Ended] = []

    def begin(now: float) -> None:
        if now < until and proposer.has_more():
            trial, index = proposer.ask()
            until_pause = REST + (table.costs[index, WHOLE] - REST) * pauses[0]
            heapq.heappush(events, (now + until_pause, next(number), trial, index, 0))

    for _ in range(PLACES):
        begin(0.0)
    while events:
        now, _, trial, index, pause = heapq.heappop(events)
        if now > until:
            break
        if pause < len(pauses) - 1:
            if not math.isnan(score := table.rungs[index, pause]):
                trial.report(score, round(pauses[pause] / RUNGS[0]))
            if math.isnan(score) or not trial.should_prune():
                more = (table.costs[index, WHOLE] - REST) * (pauses[pause + 1] - pauses[pause])
                heapq.heappush(events, (now + more, next(number), trial, index, pause + 1))
                continue
            proposer.study.tell(trial, state=TrialState.PRUNED)
        else:
            scores = table.explored(index, WHOLE, seed)
            proposer.tell(trial, scores and scores[0])
            if scores is not None:
                ended.append((now, scores[0], index))
        begin(now)
    return ended


def _first_rungs(table: Replayed, until: float, repeat: int, peer: Peer) -> list[Ended]:
    """Train random recipes to their first rung, then continue with the best of them from that rung."""
    proposer = Proposer(table, peer.sampler(repeat))
    seed, free = repeat % table.dev.shape[2], [0.0] * PLACES
    paused: list[tuple[float, int]] = []
    while free[0] < until / 2 and proposer.has_more():
        _, index = proposer.ask()
        training = (table.costs[index, WHOLE] - REST) * RUNGS[0]
        heapq.heapreplace(free, free[0] + REST + training)
        if not math.isnan(score := table.rungs[index, 0]):
            paused.append((score, index))
    ended: list[Ended] = []
    for _, index in sorted(paused, reverse=True):
        training = (table.costs[index, WHOLE] - REST) * (1 - RUNGS[0])
        if (now := free[0] + training) > until:
            continue
        heapq.heapreplace(free, now)
        if (scores := table.explored(index, WHOLE, seed)) is not None:
            ended.append((now, scores[0], index))
    return ended
