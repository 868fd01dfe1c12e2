"""Which recipe leads: how the recipes of a study stand by what it looks for, while it runs and in its report.

A recipe counts by its mean over the seeds of the search. Trials under fresh seeds and on parts of the data are no part
of that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reports.facts.cached import cached
from reports.facts.same_recipe import Ran, joined, shared_trials
from reports.ledger import Record, is_explored
from reports.statistics import Measured
from reports.statistics.true_scores import RecipeScores
from search_spaces.goals import Goal, merit, upward_values
from search_spaces.limits import exceeded


@dataclass(frozen=True)
class Ranked:
    """A finished recipe, with a value for each of the study's measured goals."""

    recipe_hash: str
    records: list[Record]
    deciding: list[Record]
    """Those that say how good it is (`Standings.deciding`)."""
    values: tuple[Measured, ...]
    lost: bool
    """Whether it left a race over seeds."""

    def upward(self, goals: Sequence[Goal]) -> tuple[float, ...]:
        """The means, each the higher the better."""
        return tuple(goal.upward(value.mean) for goal, value in zip(goals, self.values, strict=True))

    def by_seed(self, goals: Sequence[Goal]) -> RecipeScores:
        """Upward, too, of the seeds that have every goal."""
        seeds = [own for each in self.deciding if (own := upward_values(goals, each.scores, each.cost))]
        return RecipeScores(np.array(seeds, dtype=float), self.values[0].fixed)


class Standings:
    """Of the recipes of these records. Whoever has more of a study than its records inherits from it."""

    records: Sequence[Record]
    """In the order of the study (`in_study_order`): of equals the first leads."""
    goals: tuple[Goal, ...]
    limits: Mapping[str, float]
    """By name; those of single trials count."""
    several_seeds: bool
    """Whether every recipe has several; else they race from one on, or have no more."""

    @property
    def fixed(self) -> Collection[str]:
        """Hashes of the recipes that score the same under every seed; none where nobody asks for spreads."""
        return ()

    @cached_property
    def recipes(self) -> dict[str, list[Record]]:
        """Finished records by recipe hash."""
        by_hash: dict[str, list[Record]] = {}
        for record in self.records:
            if record.status == "finished":
                by_hash.setdefault(record.recipe_hash, []).append(record)
        return by_hash

    def over_seeds(self, records: Sequence[Record], figure: Callable[[Record], float | None]) -> Measured | None:
        """A figure over the seeds of one recipe, of the records that have it."""
        values = [value for record in records if (value := figure(record)) is not None]
        return Measured.of(values, fixed=bool(records) and records[0].recipe_hash in self.fixed)

    @cached_property
    def stopped(self) -> set[str]:
        """Hashes of the recipes that a scheduler stopped early, or whose loss was no number while it judged them. In
        studies of older versions it stopped them seed by seed, and those that went on have scores."""
        return {record.recipe_hash for record in self.records if record.status == "pruned" and record.judged}

    def deciding(self, records: Sequence[Record]) -> list[Record]:
        """Those of one recipe's trials that say how good it is.

        None where a scheduler stopped the recipe, which it judges by no fresh seed. A trial that it let go on has
        scores that were selected: it does not count where there are others. In a race from one seed on it counts, as
        what lost has no others.
        """
        if records and records[0].recipe_hash in self.stopped and is_explored(records[0].seed):
            return []
        free = [record for record in records if not record.judged] if self.several_seeds else []
        return free or list(records)

    def goal(self, records: Sequence[Record], goal: Goal) -> Measured | None:
        """One of the search's goals, or another, over the deciding seeds of one recipe."""
        return self.over_seeds(self.deciding(records), lambda record: goal.of(record.scores, record.cost))

    @cached_property
    def measured_goals(self) -> tuple[Goal, ...]:
        """The goals that some finished trial has a value of."""
        recipes = self.recipes.values()
        return tuple(goal for goal in self.goals if any(self.goal(records, goal) for records in recipes))

    def of_goals(self, records: Sequence[Record]) -> tuple[Measured, ...] | None:
        """All measured goals over the seeds of one recipe; None where one is missing."""
        scores = [score for goal in self.measured_goals if (score := self.goal(records, goal)) is not None]
        return tuple(scores) if len(scores) == len(self.measured_goals) else None

    def merit(self, values: Sequence[Measured]) -> tuple[float, ...]:
        """What recipes are ranked by, of their measured goals; the higher the better."""
        return merit(self.measured_goals, [value.mean for value in values])

    @cached_property
    def above_limits(self) -> dict[str, dict[str, float]]:
        """By recipe hash, the limits of trials that a recipe is above in the mean over its seeds, and that mean."""
        above = {
            recipe_hash: exceeded(self.limits, [record.cost for record in records])
            for recipe_hash, records in self.recipes.items()
        }
        return {recipe_hash: means for recipe_hash, means in above.items() if means}

    @cached
    def ranked(self, lost: frozenset[str] = frozenset()) -> list[Ranked]:
        """The recipes that may be the best, which are those that have every measured goal, by their merit, best first;
        of equals the one that the study has first.

        Recipes above a limit are left out. Those that `lost` a race over seeds come last, as few seeds may show a mean
        that more would not.
        """
        ranked = [
            Ranked(recipe_hash, records, self.deciding(records), values, recipe_hash in lost)
            for recipe_hash, records in self.recipes.items()
            if recipe_hash not in self.above_limits and (values := self.of_goals(records))
        ]
        return sorted(ranked, key=lambda recipe: (not recipe.lost, self.merit(recipe.values)), reverse=True)

    @cached_property
    def ran(self) -> dict[str, Ran]:
        """By recipe hash its trials, as they are told from those of another recipe."""
        return {key: Ran(records) for key, records in self.recipes.items()}

    @cached_property
    def shared_trials(self) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
        """As `same_recipe.shared_trials`: recipes that are one in effect, and those that share a copied trial."""
        return shared_trials(self.ran)

    @property
    def counted_first(self) -> Iterable[str | None]:
        """Hashes of recipes that others are counted as rather than as the study's first one."""
        return ()

    @cached_property
    def _counted_as(self) -> dict[str, str]:
        """By the hash of a copy that of the recipe that it is counted with."""
        order = {key: place for place, key in enumerate(dict.fromkeys([*self.counted_first, *self.recipes]))}
        groups = joined([group for groups in self.shared_trials for group in groups])
        return {key: min(group, key=lambda recipe: order[recipe]) for group in groups for key in group}

    def once(self, recipe_hash: str) -> str:
        """What the recipe is counted as: copies of one recipe count once, wherever recipes are counted or compared."""
        return self._counted_as.get(recipe_hash, recipe_hash)


@dataclass(frozen=True)
class RecordStandings(Standings):
    """Of a study of which nothing but the records is there, as of one that runs."""

    records: Sequence[Record]
    goals: tuple[Goal, ...]
    limits: Mapping[str, float]
    several_seeds: bool = False


def in_study_order(records: Iterable[Record], hashes: Iterable[str | None]) -> list[Record]:
    """By the place of their recipes in the study, and by seed: what recipes are called, and so the order of their files
    or of their ends, must decide no tie and no draw. `hashes`: of rows, then of explored recipes."""
    places = {recipe_hash: place for place, recipe_hash in enumerate(dict.fromkeys(hashes))}
    return sorted(records, key=lambda record: (places.get(record.recipe_hash, len(places)), record.seed))
