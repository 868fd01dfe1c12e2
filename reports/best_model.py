"""Which recipe of a study is the best by the goals of its search, and which of a recipe's trained models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from reports.cached import cached
from reports.ledger import Record, is_fresh
from reports.results import Results
from reports.seed_race import of_results
from reports.statistics import Measured
from reports.true_scores import RecipeScores
from search_spaces.goals import Goal, merit, upward_values, values_of
from search_spaces.own_data import TF_IDF


@dataclass(frozen=True)
class Ranked:
    """A finished recipe, with a value for each of the study's measured goals."""

    recipe_hash: str
    records: list[Record]
    deciding: list[Record]
    """Those that say how good it is (`Results.deciding`)."""
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


@cached
def ranking(results: Results) -> list[Ranked]:
    """The recipes that may be the best: those that have every measured goal (`Results.measured_goals`), by
    `search_spaces.goals.merit`, best first; of equals the one that the study has first.

    Recipes above a limit and TF-IDF are left out; those that left a race over seeds come last, as few seeds may
    show a mean that more would not.
    """
    races = of_results(results)
    lost = {recipe_hash for recipe_hash, recipe in races.items() if recipe.lost}
    ranked = [
        Ranked(recipe_hash, records, results.deciding(records), values, recipe_hash in lost)
        for recipe_hash, records in results.recipes.items()
        if recipe_hash not in results.above_limits
        and results.labels.get(recipe_hash) != TF_IDF  # no model
        and (values := results.of_goals(records))
    ]

    def place(recipe: Ranked) -> tuple[bool, tuple[float, ...]]:
        return not recipe.lost, merit(results.measured_goals, [value.mean for value in recipe.values])

    return sorted(ranked, key=place, reverse=True)


def best_first(results: Results, records: list[Record]) -> list[Record]:
    """Trials in the same order, and where that is equal or unknown by seed; before all others those of the finals, of
    which an answer speaks."""

    def place(record: Record) -> tuple[bool, bool, list[float], int]:
        values = values_of(results.measured_goals, record.scores, record.cost)
        merits = [-value for value in merit(results.measured_goals, values)] if values else []
        return not is_fresh(record.seed), not values, merits, record.seed

    return sorted(records, key=place)


def with_model(results: Results, records: Iterable[Record], fetch: Callable[[str], object]) -> Record | None:
    """The first of the trials whose model is in the folder, or is brought into it by `fetch`."""
    for record in records:
        if record.checkpoint:
            fetch(record.checkpoint)
            if (results.folder / record.checkpoint).is_dir():
                return record
    return None
