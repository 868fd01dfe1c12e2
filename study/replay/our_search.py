"""The search of a study as a replay runs it: Optuna's ask and tell over a study in memory, and the scheduler."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence

import numpy as np

from reports.ledger import trial_key
from study.replay.compare import NamedSearch, Start
from study.replay.metrics import mean_of_seeds
from study.replay.recorded import Recorded
from study.search.ask_tell import AskTell, memory_study
from study.search.points import point
from study.search.samplers import SAMPLERS, SamplerEntry
from study.search.schedulers import SCHEDULERS, Scheduler, Setting
from study.search.warm_start import Source, WarmStart
from trainables.errors import UserError
from trainables.recipe import Recipe, Value


def our_searches(
    recorded: Recorded, samplers: Sequence[str], schedulers: Sequence[str], sources: Sequence[Source] = ()
) -> list[NamedSearch]:
    """Every sampler with every scheduler; with `sources` each of them again, once it learns from these.

    `UserError` where one cannot do what the record asks of it.
    """
    several = len(recorded.goals) > 1
    space = dataclasses.replace(recorded.space, goals=recorded.goals if several else ())
    for name in samplers:
        SAMPLERS[name].check(space)
    for name in schedulers:
        if several and not SCHEDULERS[name].several_goals:
            raise UserError(f"--scheduler {name} judges by one goal; choose one with --goals, or leave it out")
    return [
        NamedSearch(
            f"{sampler} + {entry.name}{', learning' if learnt else ''}",
            functools.partial(_make, sampler, entry.name, learnt),
            entry.stops,
            first_decides=True,
        )
        for sampler in samplers
        for entry in (SCHEDULERS[name] for name in schedulers)
        for learnt in ((), tuple(sources))[: 1 + bool(sources)]
    ]


def source_of(name: str, other: Recorded, recorded: Recorded) -> Source:
    """What another record knows of this one's search space: its recipes that have scores for all of this one's goals.

    `UserError` where it has other goals, or knows none of the recipes.
    """
    scores = mean_of_seeds(other.of_goals(recorded.goals).development[:, :, -1])
    found = [
        (place, values.tolist())
        for chosen, values in zip(other.chosen, scores, strict=True)
        if np.isfinite(values).all()
        if (place := _point(chosen, recorded)) is not None
    ]
    if not found:
        raise UserError(f"--learn-from {name} has nothing to learn from: none of its recipes lies in these domains")
    return Source(name, *zip(*found, strict=True))


def _point(chosen: Mapping[str, Value], recorded: Recorded) -> Mapping[str, Value] | None:
    """The same choices in this record's search space; None where they are no point of it."""
    found = point({**recorded.base.flat(), **chosen}, recorded.base, recorded.space.domains)
    return found if found == chosen else None


def _make(sampler: str, scheduler: str, sources: Sequence[Source], start: Start) -> OurSearch:
    chosen = SCHEDULERS[scheduler].build(Setting(start.rungs, len(start.recorded.goals), start.repeat))
    return OurSearch(start.recorded, SAMPLERS[sampler], chosen, start.seeds, start.repeat, sources)


class OurSearch:
    """A `Search` (`study.replay.simulate`) made of a study's own parts."""

    def __init__(
        self,
        recorded: Recorded,
        sampler: SamplerEntry,
        scheduler: Scheduler,
        seeds: Sequence[int],
        repeat: int,
        sources: Sequence[Source] = (),
    ) -> None:
        """`repeat` is the sampler's seed."""
        study = memory_study(sampler.build(repeat), len(recorded.goals))
        domains, conditional = recorded.space.domains, sampler.conditional
        warm_start = WarmStart(sources, domains) if sources else None
        self.recorded, self.scheduler, self.seeds = recorded, scheduler, seeds
        self.ask_tell = AskTell(study, recorded.base, domains, conditional=conditional, warm_start=warm_start)
        self.named: dict[str, Recipe] = {}
        self.rungs: dict[tuple[str, int], list[tuple[int, Sequence[float]]]] = {}
        """By the recipe's hash and the seed, what its trial has shown so far: what a ledger holds of it."""
        self.stopped: set[tuple[str, int]] = set()
        """Trials that were stopped early. They stay so, as in a ledger."""

    def suggest(self, name: str) -> int:
        number, chosen = self.ask_tell.choose()
        place = self.recorded.nearest(chosen)
        recipe = self.recorded.recipes[place]
        self.named[name] = recipe
        self.ask_tell.begin(number, recipe, self.seeds)
        return place

    def rung(self, name: str, seed: int, rung: int, values: Sequence[float]) -> bool:
        trial = self.named[name].hash, seed
        self.rungs.setdefault(trial, []).append((rung, values))
        goes_on = self.scheduler.goes_on(trial_key(*trial), rung, values)
        if not goes_on:
            self.stopped.add(trial)
        return goes_on

    def done(self, name: str, seed: int, values: Sequence[float] | None) -> None:
        trial = self.named[name].hash, seed
        self.ask_tell.tell(*trial, values, pruned=trial in self.stopped, rungs=self.rungs.get(trial, ()))
