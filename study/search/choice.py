"""Who is in the finals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from study.search.course import Course, Explored
from study.search.finals import Entrant, SearchFinals, choose, seeds_of
from study.search.merits import Merit
from trainables.recipe import Recipe


def by_merit(
    ranked: Sequence[Merit],
    course: Course,
    finals: SearchFinals,
    explored: Mapping[str, Explored],
    able: Callable[[Recipe], bool] = lambda _: True,
) -> list[Entrant]:
    """Of recipes on all of the data, the best first, each recipe once: rows and what was explored, but for what they
    are compared with, what trains nothing beside a base that does, and what the search has seen no higher than the
    base settings: these scores flatter it. `explored` goes by hash; of `able` recipes a limit has
    room for a seed."""
    fixed = {trial.recipe_hash: trial for trial in course.fixed}
    out = {merit.counted_as for merit in ranked if merit.recipe_hash in finals.compared}
    base = next((merit for merit in ranked if merit.recipe_hash == course.base.hash), None)
    entrants = []
    for merit in ranked:
        trial = fixed.get(merit.recipe_hash)
        known = trial or explored.get(merit.recipe_hash)
        evaluated = trial is not None and trial.row and course.base.trains and not trial.recipe.trains
        lower = base is not None and len(merit.values) == 1 and merit.values[0] <= base.values[0]
        if known is None or evaluated or lower or merit.counted_as in out or not able(known.recipe):
            continue
        out.add(merit.counted_as)
        seeds = seeds_of(known.recipe, finals.seeds, trial is not None and trial.row)
        entrants.append((merit, Entrant(known.recipe, known.name, seeds)))
    lost = sum(merit.lost for merit, _ in entrants)
    places = choose([merit.values for merit, _ in entrants], finals.recipes, lost)
    return [entrants[place][1] for place in places]


def by_part(
    by_parts: Iterable[Mapping[str, float]],
    finals: SearchFinals,
    explored: Mapping[str, Explored],
    able: Callable[[Recipe], bool] = lambda _: True,
) -> list[Entrant]:
    """The best on the largest part of the data on which any recipe is better than the base settings. `by_parts`: of
    each part, the largest first, the scores by the hash of the whole recipe."""
    for scores in by_parts:
        base = scores.get(finals.base.hash, -math.inf)
        better = [key for key, score in scores.items() if score > base and able(explored[key].recipe)]
        best = [explored[key] for key in sorted(better, key=lambda key: -scores[key])[: finals.recipes]]
        if best:
            return [Entrant(each.recipe, each.name, seeds_of(each.recipe, finals.seeds, False)) for each in best]
    return []
