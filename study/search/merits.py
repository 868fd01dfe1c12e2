"""Which explored recipes of a study are the best, by the records alone."""

from __future__ import annotations

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
    """The best first, by development scores; those that left a race last. Left out are recipes above a limit of trials,
    that were stopped early, or that miss a goal which others have. Scores of fresh seeds and of parts do not count;
    nor, where every recipe has several `seeds`, do those that a scheduler selected."""
    found: dict[str, list[Record]] = {}
    stopped = set()
    for record in records:
        if is_explored(record.seed):
            if record.status == "finished":
                found.setdefault(record.recipe_hash, []).append(record)
            elif record.judged:
                stopped.add(record.recipe_hash)
    means = {key: _means(goals, each, seeds) for key, each in found.items() if key not in stopped}
    measured = [any(values[place] is not None for values in means.values()) for place in range(len(goals))]
    known = [goal for goal, there in zip(goals, measured, strict=True) if there]
    lost = {key for key, one in race.race.raced().items() if one.lost} if race else set()
    copies = {key: min(group) for group in shared_trials({k: Ran(v) for k, v in found.items()})[0] for key in group}
    ranked = []
    for key, values in means.items():
        kept = [value for value, there in zip(values, measured, strict=True) if there]
        if not kept or None in kept or exceeded(limits, [record.cost for record in found[key]]):
            continue
        upward = tuple(goal.upward(value) for goal, value in zip(known, kept, strict=True) if value is not None)
        ranked.append((key not in lost, merit(known, [v for v in kept if v is not None]), key, upward))
    ranked.sort(key=lambda one: one[:2], reverse=True)
    return [Merit(key, upward, key in lost, copies.get(key, key)) for _, _, key, upward in ranked]


def _means(goals: Sequence[Goal], records: Sequence[Record], seeds: int) -> list[float | None]:
    """Of each goal over those records that no scheduler let go on, where there are any. In a race from one seed on all
    count, as what lost has no others."""
    free = ([record for record in records if not record.judged] if seeds > 1 else []) or records
    values = [[goal.of(record.scores, record.cost) for record in free] for goal in goals]
    return [fmean(there) if (there := [value for value in each if value is not None]) else None for each in values]
