"""Searches against each other on one record: every one is repeated under the same seeds, over several processes."""

from __future__ import annotations

import functools
import math
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from study.replay.metrics import Progress, Yardstick, progress
from study.replay.recorded import Recorded
from study.replay.simulate import Search, SearchBudget, TrialCurves, simulate
from study.search.seed_race import SeedRace
from trainables.errors import UserError
from trainables.plugins import load_plugin


@dataclass(frozen=True)
class Start:
    """What a search is made for, anew in every repeat."""

    recorded: Recorded
    rungs: tuple[float, ...]
    """The steps at which its trials pause, with the end; only the end for one that stops nobody."""
    seeds: tuple[int, ...]
    """The places of the seeds that each recipe is run with."""
    repeat: int


@dataclass(frozen=True)
class NamedSearch:
    """A search by name. `make` must be a function of a module, or a `functools.partial` of one: processes share it."""

    name: str
    make: Callable[[Start], Search]
    stops: bool
    """Whether it may stop trials: only then they pause for a score at the rungs."""
    first_decides: bool = False
    """Whether it judges a recipe's first seed alone, and the others run where that one came to its end, as a study's
    do; else all seeds run at once, and each is judged."""


@dataclass(frozen=True)
class Conditions:
    """What is the same for all searches."""

    seeds: int = 1
    """Of every recipe. Which ones is drawn in each repeat from those that were recorded for most recipes."""
    most_seeds: int | None = None
    """Up to so many where they can change who is best (`study.search.seed_race`), after the search; None: no race."""
    workers: int = 4
    rungs: tuple[int, ...] | None = None
    """The numbers of the record's rungs, from 0, where trials may be stopped; None for all."""
    trials: int | None = None
    """So many recipes are asked for; None for as many as are recorded."""
    compute: float | None = None
    """The share of the whole record's compute under the same seeds that may be spent."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """One repeat of a search."""

    progress: Progress
    asked: int
    """Recipes, those included that had been asked for before."""
    trials: int
    finished: int
    """Trials that ran to their end."""
    clock: float
    """Simulated seconds at the end."""
    compute: float
    """Training seconds of all trials."""
    whole: float
    """Training seconds of the whole record under the same seeds."""

    @property
    def found(self) -> float:
        """At the end, as `Progress.found`."""
        return float(self.progress.found[-1])


def compare(
    recorded: Recorded,
    searches: Sequence[NamedSearch],
    conditions: Conditions,
    repeats: int,
    processes: int = 1,
    plugins: Sequence[Path] = (),
) -> dict[str, list[Outcome]]:
    """By the search's name its repeats, in order. `plugins` are run in every process."""
    jobs = [(named, repeat) for repeat in range(repeats) for named in searches]
    if processes == 1:
        comparison = Comparison(recorded, conditions)
        outcomes = [comparison.run(*job) for job in jobs]
    else:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(processes, context, _open, (recorded, conditions, tuple(plugins))) as pool:
            outcomes = list(pool.map(_run, *zip(*jobs, strict=True)))
    found: dict[str, list[Outcome]] = {named.name: [] for named in searches}
    for (named, _), outcome in zip(jobs, outcomes, strict=True):
        found[named.name].append(outcome)
    return found


class Comparison:
    """A record and the conditions, which all searches share that are compared on it."""

    def __init__(self, recorded: Recorded, conditions: Conditions) -> None:
        self.recorded, self.conditions = recorded, conditions
        self.yardstick = Yardstick(recorded)
        self.common = common_seeds(recorded)
        self.most = conditions.most_seeds or conditions.seeds
        if self.most > len(self.common):
            raise UserError(
                f"{self.most} seeds of each recipe were asked for, but most recipes were recorded with "
                f"{len(self.common)}; --seeds {len(self.common)} is the most"
            )

    def run(self, named: NamedSearch, repeat: int) -> Outcome:
        """One repeat. Every search gets the same seeds in it."""
        chance = np.random.default_rng(repeat)
        seeds = tuple(int(seed) for seed in chance.choice(self.common, self.most, replace=False))
        least = self.conditions.seeds
        race = SeedRace(least, self.most, len(self.recorded.goals)) if self.most > least else None
        curves = self._stopping if named.stops else self._whole
        search = named.make(Start(self.recorded, curves.rungs, seeds[:least], repeat))
        whole = float(np.nan_to_num(self.recorded.seconds[:, list(seeds)]).max(axis=2).sum())
        first = named.first_decides and named.stops and least > 1
        history = simulate(curves, search, seeds, self.conditions.workers, self._budget(whole), race, first)
        return Outcome(
            progress(history, seeds, self.yardstick, least, first),
            history.asked,
            len(history.recipe),
            int(history.finished.sum()),
            float(history.clock.max(initial=0.0)),
            float(history.compute.sum()),
            whole,
        )

    def _budget(self, whole: float) -> SearchBudget:
        conditions = self.conditions
        return SearchBudget(conditions.trials, math.inf if conditions.compute is None else conditions.compute * whole)

    @functools.cached_property
    def _stopping(self) -> TrialCurves:
        rungs = self.conditions.rungs
        return TrialCurves.of(self.recorded, range(len(self.recorded.rungs)) if rungs is None else rungs)

    @functools.cached_property
    def _whole(self) -> TrialCurves:
        return TrialCurves.of(self.recorded, ())


def common_seeds(recorded: Recorded) -> np.ndarray:  # (seeds,), their places
    """The seeds that were recorded for at least half of the recipes."""
    there = ~np.isnan(recorded.seconds).all(axis=2)
    return np.flatnonzero(there.mean(axis=0) >= 0.5)


class WholeRecord:
    """The rival of every search: each recipe of the record once, in an order of chance, and nobody is stopped."""

    def __init__(self, start: Start) -> None:
        order = np.random.default_rng([start.repeat, 1]).permutation(len(start.recorded.hashes))
        self.left: Iterator[int] = iter(order.tolist())

    def suggest(self, name: str) -> int | None:
        return next(self.left, None)

    def rung(self, name: str, seed: int, rung: int, values: Sequence[float]) -> bool:
        return True

    def done(self, name: str, seed: int, values: Sequence[float] | None) -> None:
        """Nothing is learnt."""


_COMPARISONS: list[Comparison] = []
"""Of this process, where it is one of several."""


def _open(recorded: Recorded, conditions: Conditions, plugins: Sequence[Path]) -> None:
    for plugin in plugins:
        load_plugin(plugin)
    _COMPARISONS.append(Comparison(recorded, conditions))


def _run(named: NamedSearch, repeat: int) -> Outcome:
    return _COMPARISONS[0].run(named, repeat)
