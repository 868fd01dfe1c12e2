"""A race over seeds: which recipes need more seeds, and for which question.

A running study calls it, and a report calls it again on the ledger; both get the same answers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

import numpy as np

from reports.facts.cached import cached
from reports.facts.results import Results
from reports.statistics.sequential import Course, Entrant, race_against, race_for_best
from search_spaces.goals import upward_values

Question = Literal["best", "best row", "baseline"]


@dataclass(frozen=True)
class RecipeRace:
    """A recipe's state in the race over seeds, for every question in which the recipe takes part."""

    seeds_run: int
    """Number of seeds with scores of the recipe."""
    most: int
    fixed: bool
    courses: Mapping[Question, Course]

    @property
    def seeds(self) -> int:
        """Number of seeds that the recipe needs, as far as is known."""
        return max((course.seeds for course in self.courses.values()), default=self.seeds_run)

    @property
    def going(self) -> bool:
        """Whether the recipe may need more seeds."""
        return not self.fixed and any(course.state == "going" for course in self.courses.values())

    @property
    def lost(self) -> bool:
        """Whether the recipe has left the race for the best, because it is behind or a trial failed."""
        return "best" in self.courses and self.courses["best"].state in ("behind", "failed")

    @property
    def gap(self) -> float:
        """Points by which the closest other recipe is ahead, in the question that this recipe is nearest to winning."""
        return min((course.gap for course in self.courses.values() if course.state == "going"), default=0.0)


def run_race(
    entrants: Mapping[str, Entrant], rows: Collection[str], baseline: str | None, least: int, most: int
) -> dict[str, RecipeRace]:
    """Return each recipe's race by hash. Questions: who is best, which row is best, which rows are above the baseline.

    A recipe with fewer than `least` seeds takes part in no question.
    """
    ready = {
        name: entrant for name, entrant in entrants.items() if len(entrant.values) >= (1 if entrant.fixed else least)
    }
    of_rows = {name: entrant for name, entrant in ready.items() if name in rows}
    answers: dict[Question, dict[str, Course]] = {"best": race_for_best(ready, least, most)}
    if len(of_rows) < len(ready):
        answers["best row"] = race_for_best(of_rows, least, most)
    if baseline is not None and baseline in of_rows:
        answers["baseline"] = race_against(baseline, of_rows, least, most)
    return {
        name: RecipeRace(
            len(entrant.values),
            most,
            entrant.fixed,
            {question: courses[name] for question, courses in answers.items() if name in courses},
        )
        for name, entrant in entrants.items()
    }


def entrant(by_seed: Mapping[int, Sequence[float] | None], goals: int, fixed: bool, failed: bool = False) -> Entrant:
    """Return a participant of a race: a recipe's values from seed 0 on, up to the first seed without values."""
    values = [*takewhile(lambda own: own is not None, map(by_seed.get, range(len(by_seed))))]
    return Entrant(np.array(values, dtype=float).reshape(len(values), goals), fixed, failed)


@cached
def study_race(results: Results) -> dict[str, RecipeRace]:
    """Return the state of each recipe in the study's race over seeds, by hash; empty if the study runs no race."""
    info = results.info
    if not info.raced or info.most_seeds is None:
        return {}
    rows = [recipe_hash for label in results.asked_rows if (recipe_hash := info.row_hashes[label])]
    ended = {record.recipe_hash for record in results.records if record.status == "pruned"} | set(results.failures)
    entrants = {}
    for recipe_hash in dict.fromkeys([*rows, *results.explored]):
        records = results.recipes.get(recipe_hash, [])
        by_seed = {record.seed: upward_values(results.goals, record.scores, record.cost) for record in records}
        fixed = recipe_hash in results.fixed
        entrants[recipe_hash] = entrant(by_seed, len(results.goals), fixed, recipe_hash in ended)
    return run_race(entrants, rows, results.baseline_hash, len(info.seeds), info.most_seeds)
