"""Optuna's side of a search: it asks for recipes, and is told what became of their seeds.

It knows neither Ray nor a disk, so a replay on simulated time runs the very same code as a study.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import optuna
from optuna.trial import TrialState

from reports.distributions import suggest
from search_spaces.space import Domain
from trainables.recipe import Recipe, Value


@dataclass
class _Group:
    """The seeds of one explored recipe, which are one Optuna trial."""

    number: int
    waiting: set[int]
    values: dict[int, Sequence[float] | None] = field(default_factory=dict)
    pruned: bool = False


class Explorer:
    """Asks Optuna for recipes; all seeds of a recipe are one Optuna trial, whose values are their means."""

    def __init__(self, study: optuna.Study, base: Recipe, domains: Sequence[Domain]) -> None:
        self.study, self.base, self.domains = study, base, domains
        self.groups: dict[str, _Group] = {}
        """By the recipe's hash, those whose seeds are not all done."""

    def ask(self, named: Callable[[optuna.Trial, Recipe], object] = lambda trial, recipe: None) -> tuple[int, Recipe]:
        """The Optuna trial's number, and the recipe that it chose. `named` is called once all of it is chosen."""
        trial = self.study.ask()
        chosen: dict[str, Value] = {}
        flat = self.base.flat()
        for domain in self.domains:
            if domain.is_asked({**flat, **chosen}):
                chosen[domain.key] = suggest(trial, domain)
        recipe = self.base.override(chosen)
        named(trial, recipe)
        return trial.number, recipe

    def begin(self, number: int, recipe: Recipe, seeds: Iterable[int]) -> bool:
        """Wait for these seeds of a recipe that was asked for. False where the recipe is waited for already: Optuna is
        told that the trial failed, and nothing is to be run."""
        if recipe.hash in self.groups:
            self.study.tell(number, state=TrialState.FAIL)
            return False
        self.groups[recipe.hash] = _Group(number, set(seeds))
        return True

    def finish(self, recipe_hash: str, seed: int, values: Sequence[float] | None, *, pruned: bool = False) -> None:
        """A seed is done: its goals' values, all maximised, or None where it failed or was stopped early (`pruned`).
        With the last one Optuna is told."""
        group = self.groups.get(recipe_hash)
        if group is None:
            return
        group.waiting.discard(seed)
        group.pruned |= pruned
        group.values[seed] = values
        if group.waiting:
            return
        del self.groups[recipe_hash]
        there = [found for found in group.values.values() if found is not None]
        if group.pruned:
            self.study.tell(group.number, state=TrialState.PRUNED)
        elif len(there) < len(group.values):
            self.study.tell(group.number, state=TrialState.FAIL)
        else:
            self.study.tell(group.number, means(there))


def means(values: Sequence[Sequence[float]]) -> list[float]:
    """The mean over seeds of every goal."""
    return [sum(each) / len(each) for each in zip(*values, strict=True)]
