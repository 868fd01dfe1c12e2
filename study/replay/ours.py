"""The search of a study as a replay runs it: the explorer over an Optuna study in memory, and the scheduler."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import optuna
from optuna.samplers import BaseSampler

from study.explorer import Explorer
from study.replay.contest import Contestant, Start
from study.replay.recorded import Recorded
from study.samplers import SAMPLERS
from study.schedulers import SCHEDULERS, Scheduler, Setting
from trainables.errors import UserError
from trainables.recipe import Recipe, Value


def contestants(recorded: Recorded, samplers: Sequence[str], schedulers: Sequence[str]) -> list[Contestant]:
    """Every sampler with every scheduler. `UserError` where one cannot do what the record asks of it."""
    for name in samplers:
        sampler = SAMPLERS[name]
        if len(recorded.goals) > 1 and not sampler.several_goals:
            raise UserError(f"the sampler {name!r} searches for one goal; choose one with --goals, or leave it out")
        if not sampler.conditional and any(domain.when for domain in recorded.space.domains):
            raise UserError(
                f"the sampler {name!r} cannot search conditional domains, and {recorded.space.name!r} has some"
            )
    for name in schedulers:
        if len(recorded.goals) > 1 and not SCHEDULERS[name].several_goals:
            raise UserError(f"the scheduler {name!r} judges by one goal; choose one with --goals, or leave it out")
    return [
        Contestant(
            f"{sampler} + {scheduler}", functools.partial(_make, sampler, scheduler), SCHEDULERS[scheduler].stops
        )
        for sampler in samplers
        for scheduler in schedulers
    ]


def _make(sampler: str, scheduler: str, start: Start) -> OurSearch:
    judge = SCHEDULERS[scheduler].build(Setting(start.rungs, len(start.recorded.goals), start.repeat))
    return OurSearch(start.recorded, SAMPLERS[sampler].build(start.repeat), judge, start.seeds)


class OurSearch:
    """A `Search` (`study.replay.simulate`) made of a study's own parts."""

    def __init__(self, recorded: Recorded, sampler: BaseSampler, scheduler: Scheduler, seeds: Sequence[int]) -> None:
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
        if self.scheduler.goes_on(f"{recipe_hash}-{seed}", rung, values):
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
