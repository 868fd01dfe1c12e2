"""What all rivals share: reports on their way from the simulation to another library, and its verdicts back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from study.replay.recorded import Recorded
from trainables.recipe import Value


class Rival(ABC):
    """A `Search` (`study.replay.simulate`) that another library makes. A trial of it is a recipe under one seed.

    The simulation runs no recipe twice. A library that asks for one again is told its last reports again, at no cost.
    """

    def __init__(self, recorded: Recorded, stops: Sequence[float], seeds: Sequence[int]) -> None:
        """`stops`: the steps at which a trial reports, with the end. `seeds`: those that each recipe is run with."""
        self.recorded, self.stops, self.seeds = recorded, stops, seeds
        self.recipes: dict[str, int] = {}
        """By the name under which they were asked for."""
        self.running: set[str] = set()
        """Trials, by `trial_name`, that the library takes to be running."""
        self.reports: dict[tuple[int, int], dict[str, Any]] = {}
        """By recipe and seed, the last report of its one run."""
        self.owners: dict[int, str] = {}
        """By recipe, the name under which it is really run: the first."""

    @abstractmethod
    def ask(self, name: str) -> Mapping[str, Value]:
        """What the library suggests for a recipe: a value of every key, also of those that have no effect."""

    @abstractmethod
    def begin(self, name: str, trial: str) -> None:
        """Tell the library that a trial of that recipe begins."""

    @abstractmethod
    def report(self, name: str, trial: str, result: dict[str, Any], *, last: bool) -> bool:
        """Tell the library a report; whether it lets the trial go on. After the last one it has been told the end."""

    @abstractmethod
    def end(self, name: str, trial: str, result: dict[str, Any] | None) -> None:
        """Tell the library that a trial is over that it did not stop: with its last report, or None if it failed."""

    def suggest(self, name: str) -> int:
        suggested, chosen = self.ask(name), dict[str, Value]()
        flat = self.recorded.base.flat()
        for domain in self.recorded.space.domains:
            if domain.is_asked({**flat, **chosen}):
                chosen[domain.key] = suggested[domain.key]
        recipe = self.recipes[name] = self.recorded.nearest(chosen)
        self.owners.setdefault(recipe, name)
        for seed in self.seeds:
            self.running.add(trial_name(name, seed))
            self.begin(name, trial_name(name, seed))
        return recipe

    def rung(self, name: str, seed: int, rung: int, values: Sequence[float]) -> bool:
        trial = trial_name(name, seed)
        goes_on = self.report(name, trial, self._note(name, seed, rung, values), last=False)
        if not goes_on:
            self.running.remove(trial)
        return goes_on

    def done(self, name: str, seed: int, values: Sequence[float] | None) -> None:
        trial, recipe = trial_name(name, seed), self.recipes[name]
        if trial not in self.running:
            return  # the library stopped it
        self.running.remove(trial)
        if self.owners[recipe] == name:
            if values is None:
                self.end(name, trial, None)
            else:
                self.report(name, trial, self._note(name, seed, len(self.stops), values), last=True)
            return
        known = self.reports.get((recipe, seed))
        if known is None or self.report(name, trial, known, last=known["step"] == self.stops[-1]):
            self.end(name, trial, known)

    def _note(self, name: str, seed: int, rung: int, values: Sequence[float]) -> dict[str, Any]:
        goals = dict(zip(self.recorded.goals, values, strict=True))
        result = {**goals, "step": int(self.stops[rung - 1]), "training_iteration": rung}
        self.reports[self.recipes[name], seed] = result
        return result


def trial_name(name: str, seed: int) -> str:
    """Of a recipe's trial under a seed, whole numbers both: a whole number, too."""
    return f"{name}{seed:03}"
