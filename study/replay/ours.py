"""The search of a study as a replay runs it: the explorer over an Optuna study in memory, and the scheduler."""

from __future__ import annotations

from collections.abc import Sequence

import optuna
from optuna.samplers import BaseSampler

from study.explorer import Explorer
from study.replay.recorded import Recorded
from study.schedulers import Scheduler
from trainables.recipe import Recipe, Value


class OurSearch:
    """A `Search` (`study.replay.simulate`) made of a study's own parts."""

    def __init__(
        self, recorded: Recorded, sampler: BaseSampler, scheduler: Scheduler | None, seeds: Sequence[int]
    ) -> None:
        """`scheduler`: None where every trial runs to its end."""
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(sampler=sampler, directions=["maximize"] * len(recorded.goals))
        self.recorded, self.scheduler, self.seeds = recorded, scheduler, seeds
        self.explorer = Explorer(study, recorded.base, recorded.space.domains)
        self.named: dict[str, Recipe] = {}
        self.stopped: set[tuple[str, int]] = set()
        """By the recipe's hash and the seed. A recipe that was stopped early stays so, as in a ledger."""

    def suggest(self, name: str) -> int:
        number, asked = self.explorer.ask()
        place = self.recorded.nearest(_chosen(self.recorded, asked))
        recipe = self.recorded.recipes[place]
        self.named[name] = recipe
        self.explorer.begin(number, recipe, self.seeds)
        return place

    def rung(self, name: str, seed: int, rung: int, values: Sequence[float]) -> bool:
        recipe_hash = self.named[name].hash
        if self.scheduler is None or self.scheduler.goes_on(f"{recipe_hash}-{seed}", rung, values):
            return True
        self.stopped.add((recipe_hash, seed))
        return False

    def done(self, name: str, seed: int, values: Sequence[float] | None) -> None:
        recipe_hash = self.named[name].hash
        self.explorer.finish(recipe_hash, seed, values, pruned=(recipe_hash, seed) in self.stopped)


def _chosen(recorded: Recorded, recipe: Recipe) -> dict[str, Value]:
    """The domains' values of a recipe."""
    flat = recipe.flat()
    return {domain.key: flat[domain.key] for domain in recorded.space.domains if domain.is_asked(flat)}
