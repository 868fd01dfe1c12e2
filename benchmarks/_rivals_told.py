"""What all rivals share: a trial's reports on the way from the simulation to another library, and its verdicts back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from study.replay.recorded import Recorded
from trainables.recipe import Value

MEAN = "mean"
"""Of the goals, in every report: for a scheduler that knows one goal only."""


class Rival(ABC):
    """A `Search` (`study.replay.simulate`) that another library makes. A trial of it is a recipe under one seed.

    The simulation runs no recipe twice. A library that asks for one again is told its last report again, at no cost.
    """

    def __init__(self, recorded: Recorded, stops: Sequence[float]) -> None:
        """`stops`: the steps at which a trial reports, with the end."""
        self.recorded, self.stops = recorded, stops
        self.recipes: dict[str, int] = {}
        """By name, of the trials that the library takes to be running."""
        self.reports: dict[int, list[dict[str, Any]]] = {}
        """By recipe, all that its one run has reported."""
        self.owners: set[str] = set()
        """The trials that really run: the first of each recipe."""

    @abstractmethod
    def ask(self, name: str) -> Mapping[str, Value]:
        """What the library suggests for a new trial: a value of every key, also of those that have no effect."""

    @abstractmethod
    def report(self, name: str, result: dict[str, Any], *, last: bool) -> bool:
        """Tell the library a report; whether it lets the trial go on. After the last one it has been told the end."""

    @abstractmethod
    def end(self, name: str, result: dict[str, Any] | None) -> None:
        """Tell the library that a trial is over that it did not stop: with its last report, or None if it failed."""

    def suggest(self, name: str) -> int:
        suggested, chosen = self.ask(name), dict[str, Value]()
        flat = self.recorded.base.flat()
        for domain in self.recorded.space.domains:
            if domain.is_asked({**flat, **chosen}):
                chosen[domain.key] = suggested[domain.key]
        recipe = self.recipes[name] = self.recorded.nearest(chosen)
        if recipe not in self.reports:
            self.reports[recipe] = []
            self.owners.add(name)
        return recipe

    def rung(self, name: str, seed: int, rung: int, values: Sequence[float]) -> bool:
        goes_on = self.report(name, self._note(name, rung, values), last=False)
        if not goes_on:
            del self.recipes[name]
        return goes_on

    def done(self, name: str, seed: int, values: Sequence[float] | None) -> None:
        if name not in self.recipes:
            return  # the library stopped it
        if name in self.owners:
            if values is None:
                self.end(name, None)
            else:
                self.report(name, self._note(name, len(self.stops), values), last=True)
        else:
            reports = self.reports[self.recipes[name]]
            if not reports or self.report(name, reports[-1], last=reports[-1]["step"] == self.stops[-1]):
                self.end(name, reports[-1] if reports else None)
        del self.recipes[name]

    def _note(self, name: str, rung: int, values: Sequence[float]) -> dict[str, Any]:
        goals = dict(zip(self.recorded.goals, values, strict=True))
        mean = sum(values) / len(values)
        result = {**goals, MEAN: mean, "step": int(self.stops[rung - 1]), "training_iteration": rung}
        self.reports[self.recipes[name]].append(result)
        return result
