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
    out = {one.counted_as for one in ranked if one.recipe_hash in finals.compared}
    base = next((one for one in ranked if one.recipe_hash == course.base.hash), None)
    found = []
    for one in ranked:
        trial = fixed.get(one.recipe_hash)
        known = trial or explored.get(one.recipe_hash)
        evaluated = trial is not None and trial.row and course.base.trains and not trial.recipe.trains
        lower = base is not None and len(one.values) == 1 and one.values[0] <= base.values[0]
        if known is None or evaluated or lower or one.counted_as in out or not able(known.recipe):
            continue
        out.add(one.counted_as)
        seeds = seeds_of(known.recipe, finals.seeds, trial is not None and trial.row)
        found.append((one, Entrant(known.recipe, known.name, seeds)))
    lost = sum(one.lost for one, _ in found)
    places = choose([one.values for one, _ in found], finals.recipes, lost)
    return [found[place][1] for place in places]


def by_part(
    seen: Iterable[Mapping[str, float]],
    finals: SearchFinals,
    explored: Mapping[str, Explored],
    able: Callable[[Recipe], bool] = lambda _: True,
) -> list[Entrant]:
    """Of the largest part of the data on which any recipe is better than the base settings, the best. `seen`: of each
    part, the largest first, the scores by the hash of the whole recipe."""
    for scores in seen:
        base = scores.get(finals.base.hash, -math.inf)
        better = [key for key, score in scores.items() if score > base and able(explored[key].recipe)]
        best = [explored[key] for key in sorted(better, key=lambda key: -scores[key])[: finals.recipes]]
        if best:
            return [Entrant(one.recipe, one.name, seeds_of(one.recipe, finals.seeds, False)) for one in best]
    return []
