"""Which explored recipes of a study are the best, by the records alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from reports.ledger import Record, is_explored
from reports.same_recipe import Ran, shared_trials
from search_spaces.goals import Goal, merit
from search_spaces.limits import exceeded
from study.search.seed_race import StudySeedRace


@dataclass(frozen=True)
class Merit:
    """A recipe whose goals all have a value."""

    recipe_hash: str
    values: tuple[float, ...]
    """Means over seeds, each the higher the better."""
    lost: bool
    """Whether it left a race over seeds."""
    counted_as: str
    """Its own hash; of a copy of another recipe that one's."""


def merits(
    records: Iterable[Record],
    goals: Sequence[Goal],
    limits: Mapping[str, float],
    race: StudySeedRace | None = None,
    seeds: int = 1,
) -> list[Merit]:
    """The best recipes first, by development scores; those that left a race last.

    Left out are recipes above a limit of trials, stopped early, or without a goal that others have. Fresh seeds and
    parts do not count; nor, where every recipe has several `seeds`, do trials that a scheduler let go on.
    """
    by_recipe: dict[str, list[Record]] = {}
    stopped = set()
    for record in records:
        if is_explored(record.seed):
            if record.status == "finished":
                by_recipe.setdefault(record.recipe_hash, []).append(record)
            elif record.judged:
                stopped.add(record.recipe_hash)
    means = {key: _means(goals, each, seeds) for key, each in by_recipe.items() if key not in stopped}
    measured = [any(values[place] is not None for values in means.values()) for place in range(len(goals))]
    measured_goals = list(itertools.compress(goals, measured))
    lost = {key for key, standing in race.race.raced().items() if standing.lost} if race else set()
    copies = {key: min(group) for group in shared_trials({k: Ran(v) for k, v in by_recipe.items()})[0] for key in group}
    ranked = []
    for key, values in means.items():
        own = [value for value in itertools.compress(values, measured) if value is not None]
        if not own or len(own) < len(measured_goals) or exceeded(limits, [record.cost for record in by_recipe[key]]):
            continue
        upward = tuple(goal.upward(value) for goal, value in zip(measured_goals, own, strict=True))
        ranked.append((key not in lost, merit(measured_goals, own), key, upward))
    ranked.sort(key=lambda entry: entry[:2], reverse=True)
    return [Merit(key, upward, key in lost, copies.get(key, key)) for _, _, key, upward in ranked]


def _means(goals: Sequence[Goal], records: Sequence[Record], seeds: int) -> list[float | None]:
    """Of each goal over the records that no scheduler let go on, or over all where there are none, and where recipes
    race from one seed on."""
    free = ([record for record in records if not record.judged] if seeds > 1 else []) or records
    values = [[goal.of(record.scores, record.cost) for record in free] for goal in goals]
    measured = [[value for value in each if value is not None] for each in values]
    return [fmean(each) if each else None for each in measured]
