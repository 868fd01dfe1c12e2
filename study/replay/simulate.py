"""One search on simulated time: workers take trials whose course is recorded, and a search says what runs next."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from study.replay.recorded import Recorded
from study.search.seed_race import SeedRace


class Search(Protocol):
    """Whatever chooses trials and stops them early: ours (`study.replay.our_search`), or another library's.

    A recipe that it asks for is run under each of the simulation's seeds, and each of these trials is told by itself.
    Where the first seed decides, the others are run once that one came to its end, and no rung of them is asked for.
    """

    def suggest(self, name: str) -> int | None:
        """The number of the recorded recipe that runs next (`Recorded.nearest` finds it), under this name; None where
        there is none as long as nothing more is told.

        A recipe that was asked for before is not run again: it is `done` at once, or together with the first one where
        that still runs, and no rung of it is asked for.
        """

    def rung(self, name: str, seed: int, rung: int, values: Sequence[float]) -> bool:
        """Whether the trial goes on after its rung, counted from 1 among those that were asked for; never the end.
        `values` are the goals' development scores there, each the higher the better."""

    def done(self, name: str, seed: int, values: Sequence[float] | None) -> None:
        """The trial is over: its goals' development scores at the end, or None where it was stopped or failed."""


@dataclass(frozen=True)
class SearchBudget:
    """When a search ends: at the first of these that is reached."""

    recipes: int | None = None
    """So many are asked for, as in a study's `--trials`, those included that were asked for before. None: as many as
    are recorded, for by then all of them could have been run."""
    compute: float = math.inf
    """Training seconds of all trials together. A part of a training that would go beyond is not begun."""


@dataclass(frozen=True, eq=False)
class TrialCurves:
    """What each trial costs, and has to show, at each stop: the rungs where it may be stopped, and its end."""

    rungs: tuple[float, ...]
    """The step of each stop."""
    compute: list[list[list[float]]]  # (recipes, seeds, stops), seconds of training until then
    clock: list[list[list[float]]]  # (recipes, seeds, stops), the same with the scoring at each stop
    values: list[list[list[tuple[float, ...] | None]]]  # (recipes, seeds, stops), development; None from a failure on

    @classmethod
    def of(cls, recorded: Recorded, rungs: Sequence[int]) -> TrialCurves:
        """With stops at these rungs of the record, by number from 0, and at the end."""
        stops = [*sorted(set(rungs) - {len(recorded.rungs) - 1}), len(recorded.rungs) - 1]
        compute = np.maximum.accumulate(np.nan_to_num(recorded.seconds), axis=2)  # what has failed costs no more
        scored = np.maximum.accumulate(np.nan_to_num(recorded.scoring), axis=2)
        each = np.diff(scored, axis=2, prepend=0.0)[:, :, stops]
        there = ~np.isnan(recorded.development).any(axis=3)
        values = [
            [
                [tuple(found[stop].tolist()) if here[stop] else None for stop in stops]
                for found, here in zip(found_of, here_of, strict=True)
            ]
            for found_of, here_of in zip(recorded.development, there, strict=True)
        ]
        compute = compute[:, :, stops]
        return cls(
            tuple(recorded.rungs[stop] for stop in stops),
            compute.tolist(),
            (compute + np.cumsum(each, axis=2)).tolist(),
            values,
        )


@dataclass(frozen=True, eq=False)
class History:
    """The trials of a search in the order in which they ended, as arrays of equal length."""

    recipe: np.ndarray  # the recorded recipe's number
    seed: np.ndarray  # the place of its seed among the recorded ones
    stops: np.ndarray  # how many stops it reached; none where the budget ended on its way to the first
    finished: np.ndarray  # whether it ran to its end and has scores there
    compute: np.ndarray  # its training seconds
    clock: np.ndarray  # simulated seconds at which it ended
    spent: np.ndarray  # training seconds of all trials until then, those of the parts that had begun included
    asked: int
    """Recipes that were asked for, those included that had been asked for before."""
    lost: tuple[int, ...] = ()
    """Recipes that left the race over seeds, where there was one."""


@dataclass
class _Trial:
    name: str
    recipe: int
    seed: int
    stops: int = 0
    """How many it has reached."""
    judged: bool = True
    """Whether the search may stop it."""
    raced: bool = False
    """Whether it is a further seed of the race, of which the search is not told."""


@dataclass
class _Known:
    """A recipe that was asked for: the names that it has, and how its trials ended."""

    names: list[str]
    ended: dict[int, tuple[float, ...] | None] = field(default_factory=dict)


def simulate(
    curves: TrialCurves,
    search: Search,
    seeds: Sequence[int],
    workers: int,
    budget: SearchBudget,
    race: SeedRace | None = None,
    first_decides: bool = False,
) -> History:
    """Run a search to the end of its budget. `seeds` are places among the recorded ones.

    With a `race` each recipe is run under the first of them, as many as are its least; once the search asks for no
    more, the race says which recipes that ran to their end get further ones, in this order. `first_decides`: whether
    the search may stop a recipe under the first of its seeds alone, and the others run only where it did not.
    """
    return _Simulation(curves, search, seeds, budget, race, first_decides).run(workers)


class _Simulation:
    def __init__(
        self,
        curves: TrialCurves,
        search: Search,
        seeds: Sequence[int],
        budget: SearchBudget,
        race: SeedRace | None,
        first_decides: bool,
    ) -> None:
        self.curves, self.search, self.budget, self.race = curves, search, budget, race
        self.seeds = seeds[: race.least] if race else seeds
        self.at_once = self.seeds[:1] if first_decides else self.seeds
        self.further = seeds
        self.last = len(curves.rungs)
        self.known: dict[int, _Known] = {}
        self.waiting: deque[_Trial] = deque()
        self.running: list[tuple[float, int, _Trial]] = []
        """A heap of what arrives at its next stop when; trials that arrive together do so in the order they began."""
        self.begun = self.asked = 0
        self.most = len(curves.compute) if budget.recipes is None else budget.recipes
        self.clock = self.spent = 0.0
        self.over = False
        self.ended: list[tuple[int, int, int, bool, float, float, float]] = []

    def run(self, workers: int) -> History:
        while True:
            while len(self.running) < workers and not self.over and (trial := self._next()) is not None:
                self._begin(trial)
            if not self.over and len(self.running) < workers and self.race:
                for trial in self._raced(self.race, workers):
                    if not self.over:
                        self._begin(trial)
            if not self.running:
                break
            self.clock, _, trial = heapq.heappop(self.running)
            trial.stops += 1
            self._arrive(trial)
        columns = list(zip(*self.ended, strict=True)) or [()] * 7
        recipe, seed, stops = (np.array(column, dtype=int) for column in columns[:3])
        compute, clock, spent = (np.array(column, dtype=float) for column in columns[4:])
        finished = np.array(columns[3], dtype=bool)
        lost = [int(name) for name, one in self.race.raced().items() if one.lost] if self.race else []
        return History(recipe, seed, stops, finished, compute, clock, spent, self.asked, tuple(lost))

    def _raced(self, race: SeedRace, workers: int) -> list[_Trial]:
        """What the race begins now: nothing before every recipe has its least seeds."""
        running = [trial for _, _, trial in self.running]
        if any(trial.seed in self.seeds for trial in running):
            return []
        begun = [(str(trial.recipe), self.further.index(trial.seed)) for trial in running]
        wanted = race.wanted(workers, begun)[: workers - len(running)]
        return [_Trial("", int(recipe), self.further[seed], judged=False, raced=True) for recipe, seed in wanted]

    def _next(self) -> _Trial | None:
        """The next trial to begin, which a search is asked for once none waits."""
        while not self.waiting and self.asked < self.most:
            name = str(self.asked + 1)
            recipe = self.search.suggest(name)
            if recipe is None:
                return None
            self.asked += 1
            known = self.known.get(recipe)
            if known is None:
                self.known[recipe] = _Known([name])
                self.waiting.extend(_Trial(name, recipe, seed) for seed in self.at_once)
                continue
            known.names.append(name)
            for seed, values in known.ended.items():
                self.search.done(name, seed, values)
        return self.waiting.popleft() if self.waiting else None

    def _begin(self, trial: _Trial) -> None:
        """Its way to the next stop, unless the budget is used up."""
        compute, clock = self._way(self.curves.compute, trial), self._way(self.curves.clock, trial)
        if self.spent + compute > self.budget.compute:
            self.over = True
            self._end(trial, finished=False)
            return
        self.spent += compute
        self.begun += 1
        heapq.heappush(self.running, (self.clock + clock, self.begun, trial))

    @staticmethod
    def _way(course: list[list[list[float]]], trial: _Trial) -> float:
        here = course[trial.recipe][trial.seed]
        return here[trial.stops] - (here[trial.stops - 1] if trial.stops else 0.0)

    def _arrive(self, trial: _Trial) -> None:
        values = self.curves.values[trial.recipe][trial.seed][trial.stops - 1]
        if values is not None and trial.stops < self.last:
            if trial.judged and not self.search.rung(trial.name, trial.seed, trial.stops, values):
                self._tell(trial, None)
            elif self.over:
                self._end(trial, finished=False)
            else:
                self._begin(trial)
        else:
            self._tell(trial, values)

    def _tell(self, trial: _Trial, values: tuple[float, ...] | None) -> None:
        self._end(trial, finished=values is not None)
        if self.race and (values is not None or trial.raced):
            self.race.enter(str(trial.recipe))
            self.race.tell(str(trial.recipe), self.further.index(trial.seed), values)
        if trial.raced:
            return
        known = self.known[trial.recipe]
        known.ended[trial.seed] = values
        if values is not None and trial.judged:
            further = self.seeds[len(self.at_once) :]
            self.waiting.extend(_Trial(trial.name, trial.recipe, seed, judged=False) for seed in further)
        for name in known.names:
            self.search.done(name, trial.seed, values)

    def _end(self, trial: _Trial, *, finished: bool) -> None:
        compute = self.curves.compute[trial.recipe][trial.seed][trial.stops - 1] if trial.stops else 0.0
        self.ended.append((trial.recipe, trial.seed, trial.stops, finished, compute, self.clock, self.spent))
