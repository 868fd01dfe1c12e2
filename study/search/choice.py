"""The choice of the finalists."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reports.ledger.finals import MAX_TIME_RATIO, TIE_MARGIN
from reports.statistics.fronts import front_numbers, spread
from study.search.design import Explored
from study.search.finals import FinalsRecipe, SearchFinals, seeds_of
from study.search.progress import StudyProgress
from trainables.recipe import Recipe


@dataclass(frozen=True)
class PartScores:
    """Scores of recipes trained on one share of the data. Keys are the hashes of the recipes on all of the data."""

    scores: Mapping[str, float]
    seconds: Mapping[str, float]
    """Seconds of each training on this share, also of trainings without a score."""

    def above(self, base: str) -> list[str]:
        """Return the recipes that score higher than the base settings, the best first; all if the base has no score."""
        least = self.scores.get(base, -math.inf)
        higher = (key for key, score in self.scores.items() if score > least)
        return sorted(higher, key=lambda key: -self.scores[key])

    def has_shorter_alternative(self, key: str) -> bool:
        """Whether another recipe trains for much less time (`MAX_TIME_RATIO`) and scores as high (`TIE_MARGIN`)."""
        as_good = (other for other, score in self.scores.items() if score >= self.scores[key] - TIE_MARGIN)
        return any(MAX_TIME_RATIO * self.seconds[other] < self.seconds[key] for other in as_good)


def by_merit(
    progress: StudyProgress,
    finals: SearchFinals,
    explored: Mapping[str, Explored],
    able: Callable[[Recipe], bool],
) -> list[FinalsRecipe]:
    """Return the best recipes on all of the data, rows and explored ones, each once. `explored` is keyed by hash.

    Left out are: recipes that finalists are compared with; rows that train nothing, if the base trains; recipes for
    whose first fresh seed a limit has no room (not `able`); with one goal, recipes that score no higher than the base
    settings.
    """
    design, standings, ranked = progress.design, progress.standings, progress.ranked()
    fixed = {trial.recipe_hash: trial for trial in design.fixed}
    upward = {each.recipe_hash: each.upward(standings.measured_goals) for each in ranked}
    out = {standings.counted_as(key) for key in finals.excluded & upward.keys()}
    base = upward.get(design.base.hash)
    entrants = []
    for each in ranked:
        key, values = each.recipe_hash, upward[each.recipe_hash]
        trial = fixed.get(key)
        origin = trial or explored.get(key)
        evaluated = trial is not None and trial.row and design.base.trains and not trial.recipe.trains
        lower = base is not None and len(values) == 1 and values <= base
        if origin is None or evaluated or lower or standings.counted_as(key) in out or not able(origin.recipe):
            continue
        out.add(standings.counted_as(key))
        seeds = seeds_of(origin.recipe, finals.seeds, trial is not None and trial.row)
        entrants.append((each, FinalsRecipe(origin.recipe, origin.name, seeds)))
    lost = sum(each.lost for each, _ in entrants)
    indices = choose([upward[each.recipe_hash] for each, _ in entrants], finals.recipes, lost)
    return [entrants[index][1] for index in indices]


def by_part(
    by_parts: Iterable[PartScores],
    finals: SearchFinals,
    explored: Mapping[str, Explored],
    able: Callable[[Recipe], bool],
) -> list[FinalsRecipe]:
    """Return the finalists among the recipes of `best_on_parts`: the best ones that a limit has room for (`able`)."""
    for better in best_on_parts(by_parts, finals.base.hash):
        fitting = (explored[key] for key in better if able(explored[key].recipe))
        if best := [*itertools.islice(fitting, finals.recipes)]:
            return [FinalsRecipe(each.recipe, each.name, seeds_of(each.recipe, finals.seeds, False)) for each in best]
    return []


def best_on_parts(by_parts: Iterable[PartScores], base: str) -> Iterator[list[str]]:
    """Yield, for each part of the data, the recipes that beat the base settings there, the best first. Before the best
    come recipes within `TIE_MARGIN` of its score that train for much less time. A recipe counts only on its largest
    part. `by_parts`: scores on each part, the largest part first. `base`: hash of the base settings."""
    judged: set[str] = set()
    for part in by_parts:
        scores, seconds = part.scores, part.seconds
        order = [key for key in part.above(base) if key not in judged]
        near = (key for key in order if scores[key] >= scores[order[0]] - TIE_MARGIN)
        shorter = [key for key in near if MAX_TIME_RATIO * seconds[key] < seconds[order[0]]]
        yield [*shorter, *(key for key in order if key not in shorter)]
        judged |= seconds.keys()


def choose(values: Sequence[Sequence[float]], most: int, lost: int = 0) -> list[int]:
    """Return the indices of the finalists in `values`, the best first. `values` are goal values of recipes that are
    ranked best first; higher is better.

    With one goal the finalists are the first recipes. With several goals they are the recipes of the front, or a subset
    that covers it well if the front is too large. The last `lost` recipes left a race over seeds: they come last.
    """
    if len(values) <= most or len(values[0]) == 1:
        return [*range(min(most, len(values)))]
    table = np.array(values, dtype=float)
    indices: list[int] = []
    for group in np.split(np.arange(len(values)), [len(values) - lost]):
        fronts = front_numbers(table[group])
        for front in range(fronts.max(initial=-1) + 1):
            members = group[fronts == front]
            while len(members):  # one of equal recipes comes first, but all come before any dominated recipe
                points, first = np.unique(table[members], axis=0, return_index=True)
                indices += members[first[spread(points)]].tolist()
                members = np.delete(members, first)
    return sorted(indices[:most])
