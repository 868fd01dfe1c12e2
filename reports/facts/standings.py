"""The order of a study's recipes by its goals, while it runs and in its report.

A recipe counts by its mean over the seeds of the search, without trials under fresh seeds and on parts of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reports.facts.cached import cached
from reports.facts.same_recipe import RecipeTrials, merged_groups, shared_trials
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
    """Records that decide the recipe's scores (`Standings.deciding`)."""
    values: tuple[Measured, ...]
    lost: bool
    """Whether the recipe lost a race over seeds and left it."""

    def upward(self, goals: Sequence[Goal]) -> tuple[float, ...]:
        """Return the mean of each goal, such that higher is better."""
        return tuple(goal.upward(value.mean) for goal, value in zip(goals, self.values, strict=True))

    def by_seed(self, goals: Sequence[Goal]) -> RecipeScores:
        """Return the values of the seeds that have every goal, such that higher is better."""
        seeds = [own for each in self.deciding if (own := upward_values(goals, each.scores, each.cost))]
        return RecipeScores(np.array(seeds, dtype=float), self.values[0].fixed)


class Standings:
    """The order of the recipes of these records. Subclasses contain more of a study than its records."""

    records: Sequence[Record]
    """Records in the order of the study (`in_study_order`): of recipes with equal scores the first leads."""
    goals: tuple[Goal, ...]
    limits: Mapping[str, float]
    """Limits of the study by name; only those of single trials count here."""
    several_seeds: bool
    """Whether every recipe has several seeds; if not, recipes race from one seed on, or have only one."""

    @property
    def fixed(self) -> Collection[str]:
        """Hashes of the recipes that score the same under every seed; empty if no spreads are needed."""
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
        """Return the mean and spread of a figure over one recipe's seeds, from the records that have the figure."""
        values = [value for record in records if (value := figure(record)) is not None]
        return Measured.of(values, fixed=bool(records) and records[0].recipe_hash in self.fixed)

    @cached_property
    def stopped(self) -> set[str]:
        """Hashes of recipes that a scheduler stopped early, or whose loss was no number while it judged them. In
        studies of older versions it stopped single seeds, so other seeds of such a recipe have scores."""
        return {record.recipe_hash for record in self.records if record.status == "pruned" and record.judged_at_rung}

    def deciding(self, records: Sequence[Record]) -> list[Record]:
        """Return the records that decide one recipe's scores.

        Empty for a recipe that a scheduler stopped, except for fresh seeds, which no scheduler judges. A trial that a
        scheduler let go on has selected scores: it does not count if the recipe has other trials. In a race from one
        seed on it counts, as recipes that lost have no other trials.
        """
        if records and records[0].recipe_hash in self.stopped and is_explored(records[0].seed):
            return []
        free = [record for record in records if not record.judged_at_rung] if self.several_seeds else []
        return free or list(records)

    def goal(self, records: Sequence[Record], goal: Goal) -> Measured | None:
        """Return a goal's value over the deciding seeds of one recipe; the goal need not be one of the search."""
        return self.over_seeds(self.deciding(records), lambda record: goal.of(record.scores, record.cost))

    @cached_property
    def measured_goals(self) -> tuple[Goal, ...]:
        """Goals for which some finished trial has a value."""
        recipes = self.recipes.values()
        return tuple(goal for goal in self.goals if any(self.goal(records, goal) for records in recipes))

    def of_goals(self, records: Sequence[Record]) -> tuple[Measured, ...] | None:
        """Return all measured goals over the seeds of one recipe; None if one is missing."""
        scores = [score for goal in self.measured_goals if (score := self.goal(records, goal)) is not None]
        return tuple(scores) if len(scores) == len(self.measured_goals) else None

    def merit(self, values: Sequence[Measured]) -> tuple[float, ...]:
        """Return the sort key of a recipe from its measured goals; higher is better."""
        return merit(self.measured_goals, [value.mean for value in values])

    @cached_property
    def above_limits(self) -> dict[str, dict[str, float]]:
        """By recipe hash, the limits of trials that the recipe's mean over seeds exceeds, with that mean."""
        above = {
            recipe_hash: exceeded(self.limits, [record.cost for record in records])
            for recipe_hash, records in self.recipes.items()
        }
        return {recipe_hash: means for recipe_hash, means in above.items() if means}

    @cached
    def ranked(self, lost: frozenset[str] = frozenset()) -> list[Ranked]:
        """Return the recipes that have every measured goal, sorted by merit, the best first; ties in the study's order.

        Recipes above a limit are left out. Recipes that `lost` a race come last: few seeds may show too high a mean.
        """
        ranked = [
            Ranked(recipe_hash, records, self.deciding(records), values, recipe_hash in lost)
            for recipe_hash, records in self.recipes.items()
            if recipe_hash not in self.above_limits and (values := self.of_goals(records))
        ]
        return sorted(ranked, key=lambda recipe: (not recipe.lost, self.merit(recipe.values)), reverse=True)

    @cached_property
    def recipe_trials(self) -> dict[str, RecipeTrials]:
        """By recipe hash, the recipe's trials in the form that `same_recipe` compares."""
        return {key: RecipeTrials(records) for key, records in self.recipes.items()}

    @cached_property
    def shared_trials(self) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
        """Groups that are one recipe in effect, and groups that share a copied trial: `same_recipe.shared_trials`."""
        return shared_trials(self.recipe_trials)

    @property
    def counted_first(self) -> Iterable[str | None]:
        """Hashes of the recipes that are preferred to their copies, before all other recipes of the study."""
        return ()

    @cached_property
    def _counted_hashes(self) -> dict[str, str]:
        """By the hash of a copy, the hash of the recipe that is counted in its place."""
        order = {key: index for index, key in enumerate(dict.fromkeys([*self.counted_first, *self.recipes]))}
        groups = merged_groups([group for groups in self.shared_trials for group in groups])
        return {key: min(group, key=lambda recipe: order[recipe]) for group in groups for key in group}

    def counted_as(self, recipe_hash: str) -> str:
        """Return the hash under which the recipe counts: for a copy that of its original, so that copies count once."""
        return self._counted_hashes.get(recipe_hash, recipe_hash)


@dataclass(frozen=True)
class RecordStandings(Standings):
    """The order of the recipes if only records are known, as of a running study."""

    records: Sequence[Record]
    goals: tuple[Goal, ...]
    limits: Mapping[str, float]
    several_seeds: bool = False


def in_study_order(records: Iterable[Record], hashes: Iterable[str | None]) -> list[Record]:
    """Sort records by the position of their recipes in the study, then by seed. Names of recipes, and so the order of
    their files or of their ends, must decide no tie and no draw. `hashes`: of rows, then of explored recipes."""
    positions = {recipe_hash: position for position, recipe_hash in enumerate(dict.fromkeys(hashes))}
    return sorted(records, key=lambda record: (positions.get(record.recipe_hash, len(positions)), record.seed))
