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
from study.replay.simulate import Allowance, Courses, Search, simulate
from study.search.seed_race import Race
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
class Contestant:
    """A search by name. `make` must be a function of a module, or a `functools.partial` of one: processes share it."""

    name: str
    make: Callable[[Start], Search]
    stops: bool
    """Whether it may stop trials: only then they pause for a score at the rungs."""
    first_decides: bool = False
    """Whether it judges a recipe's first seed alone, and the others run where that one came to its end, as a study's
    do; else all seeds run at once, and each is judged."""


@dataclass(frozen=True)
class Terms:
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
    hours: float | None = None
    """On the simulated clock."""


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


def run_contest(
    recorded: Recorded,
    contestants: Sequence[Contestant],
    terms: Terms,
    repeats: int,
    processes: int = 1,
    plugins: Sequence[Path] = (),
) -> dict[str, list[Outcome]]:
    """By the contestant's name its repeats, in order. `plugins` are run in every process."""
    jobs = [(contestant, repeat) for repeat in range(repeats) for contestant in contestants]
    if processes == 1:
        arena = Arena(recorded, terms)
        outcomes = [arena.run(*job) for job in jobs]
    else:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(processes, context, _open, (recorded, terms, tuple(plugins))) as pool:
            outcomes = list(pool.map(_run, *zip(*jobs, strict=True)))
    found: dict[str, list[Outcome]] = {contestant.name: [] for contestant in contestants}
    for (contestant, _), outcome in zip(jobs, outcomes, strict=True):
        found[contestant.name].append(outcome)
    return found


class Arena:
    """A record under the terms of a contest, and what all its searches share."""

    def __init__(self, recorded: Recorded, terms: Terms) -> None:
        self.recorded, self.terms = recorded, terms
        self.yardstick = Yardstick(recorded)
        self.common = common_seeds(recorded)
        self.most = terms.most_seeds or terms.seeds
        if self.most > len(self.common):
            raise UserError(
                f"{self.most} seeds of each recipe were asked for, but most recipes were recorded with "
                f"{len(self.common)}; --seeds {len(self.common)} is the most"
            )

    def run(self, contestant: Contestant, repeat: int) -> Outcome:
        """One repeat. Every contestant gets the same seeds in it."""
        chance = np.random.default_rng(repeat)
        seeds = tuple(int(seed) for seed in chance.choice(self.common, self.most, replace=False))
        least = self.terms.seeds
        race = Race(least, self.most, len(self.recorded.goals)) if self.most > least else None
        courses = self._stopping if contestant.stops else self._whole
        search = contestant.make(Start(self.recorded, courses.rungs, seeds[:least], repeat))
        whole = float(np.nan_to_num(self.recorded.seconds[:, list(seeds)]).max(axis=2).sum())
        first = contestant.first_decides and contestant.stops and least > 1
        history = simulate(courses, search, seeds, self.terms.workers, self._allowance(whole), race, first)
        return Outcome(
            progress(history, seeds, self.yardstick, least, first),
            history.asked,
            len(history.recipe),
            int(history.finished.sum()),
            float(history.clock.max(initial=0.0)),
            float(history.compute.sum()),
            whole,
        )

    def _allowance(self, whole: float) -> Allowance:
        terms = self.terms
        return Allowance(
            terms.trials,
            math.inf if terms.compute is None else terms.compute * whole,
            math.inf if terms.hours is None else terms.hours * 3600,
        )

    @functools.cached_property
    def _stopping(self) -> Courses:
        rungs = self.terms.rungs
        return Courses.of(self.recorded, range(len(self.recorded.rungs)) if rungs is None else rungs)

    @functools.cached_property
    def _whole(self) -> Courses:
        return Courses.of(self.recorded, ())


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


_ARENAS: list[Arena] = []
"""Of this process, where it is one of several."""


def _open(recorded: Recorded, terms: Terms, plugins: Sequence[Path]) -> None:
    for plugin in plugins:
        load_plugin(plugin)
    _ARENAS.append(Arena(recorded, terms))


def _run(contestant: Contestant, repeat: int) -> Outcome:
    return _ARENAS[0].run(contestant, repeat)
