"""Several goals at once: the recipes that no other beats on all, chosen on development parts and costs alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reports.best_model import ranking
from reports.costs import incomparable
from reports.document import Block, DataTable, Picture
from reports.guards.words import listed
from reports.ledger import Record
from reports.markdown import DASH, code, count, number, spread, text
from reports.plots.goals_front import Mark, pareto_picture
from reports.recipe_names import called
from reports.results import Results
from reports.statistics import Measured
from reports.statistics.fronts import on_front
from reports.true_scores import RecipeScores, TrueScores, true_scores
from reports.wording import CHOSEN, changes
from search_spaces.goals import Goal, values_of
from search_spaces.limits import of_trials

SHOWN_OFF, NOTABLE, DOUBTFUL, BARRED = 10, 0.1, 0.5, 20
"""So many recipes off the measured front are in the table, from this probability on; below that one a recipe on it is
marked as doubtful; with more recipes in the table than that, the picture has no intervals."""


@dataclass(frozen=True, eq=False)
class GoalsPoint:
    """A recipe with a value for each goal. `name` is the row's label, empty for an explored recipe."""

    name: str
    recipe_hash: str
    records: list[Record]
    scores: tuple[Measured, ...]
    upward: tuple[float, ...]
    """The same means, each the higher the better (`Goal.upward`)."""
    values: RecipeScores
    """Upward, too."""


def write(results: Results, pictures: Path) -> list[Block]:
    """The front over the space's goals as a table, and how probably each recipe belongs to it."""
    if len(results.space.goals) < 2:
        return []
    goals = results.measured_goals
    lacking = [goal for goal in results.goals if goal not in goals]
    missing = [f"The goal {goal.label} is missing: no finished trial has it." for goal in lacking]
    if not goals:
        return [*missing] if len(missing) == 1 else ["No finished trial has a development score for either goal."]
    points = _points(results, goals)
    if not points:
        return [" ".join([*missing, *_left_out(results), f"No {_other(results)}finished trial has {_all_of(goals)}."])]
    known = true_scores([point.values for point in points])
    chosen = front(points)
    off = _notable(points, chosen, known)
    costs = any(goal.cost for goal in goals)
    return [
        *missing,
        _counts(results, goals, points),
        *_left_out(results),
        incomparable(results, [point.records for point in points]) if costs else "",
        "On one goal the front is the single best recipe." if lacking else "",
        _chance(points, chosen, off, known),
        _table(results, goals, points, [*chosen, *off[:SHOWN_OFF]], len(chosen), known),
    ]


def front_picture(results: Results, pictures: Path) -> Picture | None:
    """All recipes on the two goals; None without two goals that were measured."""
    goals = results.measured_goals
    points = _points(results, goals) if len(results.space.goals) > 1 and len(goals) == 2 else []
    if not points:
        return None
    known = true_scores([point.values for point in points])
    chosen = front(points)
    shown = [*chosen, *_notable(points, chosen, known)[:SHOWN_OFF]]
    axes = sorted(range(2), key=lambda place: not goals[place].cost)  # a cost, if there is one, goes to the right
    marks = [_mark(place, point, chosen, shown, known, axes) for place, point in enumerate(points)]
    first, second = (goals[place] for place in axes)
    costs = (first.lower_is_better, second.lower_is_better)
    path = pareto_picture(marks, (_axis(first), _axis(second)), pictures / "pareto.svg", costs)
    what = "Values" if any(costs) else "Development scores"
    return Picture(path, f"{what} of all recipes on the two goals")


def pareto_in_short(results: Results) -> str:
    """How many recipes are on the front, and the best development score of each goal."""
    goals = results.measured_goals
    points = _points(results, goals) if goals else []
    if not points:
        return f"No finished trial has {_all_of(goals)} yet."
    best = [goal.upward(max(point.upward[place] for point in points)) for place, goal in enumerate(goals)]
    tops = " and ".join(
        f"{number(top)} for {goal.short}{' (lower is better)' * goal.lower_is_better}"
        for goal, top in zip(goals, best, strict=True)
    )
    what = "values are" if any(goal.cost for goal in goals) else "development scores are"
    chosen = front(points)
    known = true_scores([point.values for point in points])
    expected = ""
    if known is not None:
        truly = math.fsum(known.on_front[place] for place, point in enumerate(points) if point in chosen)
        expected = f" ({truly:.1f} of {'it' if len(chosen) == 1 else 'them'} can be expected on the true one)"
    return (
        f"Of {count(len(points), 'recipe')} with {'a value' if what[0] == 'v' else 'a score'} for every goal, "
        f"{len(chosen)} {'is' if len(chosen) == 1 else 'are'} on the measured Pareto front of "
        f"{' and '.join(goal.short for goal in goals)}{expected}; the best {what} {tops}."
    )


def front(points: Sequence[GoalsPoint]) -> list[GoalsPoint]:
    """The points that no other dominates, best first by the first goal."""
    kept = [points[place] for place in on_front(np.array([point.upward for point in points]))]
    return sorted(kept, key=lambda point: point.upward, reverse=True)


def _notable(points: Sequence[GoalsPoint], chosen: Sequence[GoalsPoint], known: TrueScores | None) -> list[GoalsPoint]:
    """Points off the measured front that may well belong to it, the most probable first."""
    if known is None:
        return []
    measured = {point.recipe_hash for point in chosen}
    pairs = [
        (float(probability), point)
        for point, probability in zip(points, known.on_front, strict=True)
        if point.recipe_hash not in measured and probability >= NOTABLE
    ]
    return [point for _, point in sorted(pairs, key=lambda pair: -pair[0])]


def _points(results: Results, goals: Sequence[Goal]) -> list[GoalsPoint]:
    """Rows and explored recipes that have every goal, but those above a limit."""
    points, ranked = [], {recipe.recipe_hash: recipe for recipe in ranking(results)}
    for recipe_hash in _tried(results):
        if (recipe := ranked.get(recipe_hash)) is not None:
            label = results.labels.get(recipe_hash, "")
            upward = tuple(goal.upward(value.mean) for goal, value in zip(goals, recipe.values, strict=True))
            values = _values(recipe.deciding, goals, recipe.values[0].fixed)
            points.append(GoalsPoint(label, recipe_hash, recipe.deciding, recipe.values, upward, values))
    return points


def _tried(results: Results) -> dict[str, None]:
    """Hashes of rows and explored recipes, copies once."""
    return dict.fromkeys(map(results.once, [*results.labels, *results.explored]))


def _values(records: Sequence[Record], goals: Sequence[Goal], fixed: bool) -> RecipeScores:
    """Of the seeds that have every goal."""
    of_seeds = [values_of(goals, record.scores, record.cost) for record in records]
    upward = [[goal.upward(value) for goal, value in zip(goals, values, strict=True)] for values in of_seeds if values]
    return RecipeScores(np.array(upward, dtype=float), fixed)


def _all_of(goals: Sequence[Goal]) -> str:
    return "a value of every goal" if any(goal.cost for goal in goals) else "a development score for every goal"


def _left_out(results: Results) -> list[str]:
    """How many recipes a limit keeps from the front."""
    above = len(results.above_limits)
    limits = listed([code(f"{name}={value:g}") for name, value in of_trials(results.info.limits).items()])
    be = "recipe is" if above == 1 else "recipes are"
    return [f"{above} {be} above a limit ({limits}), and left out."] if above else []


def _other(results: Results) -> str:
    return "other " * bool(results.above_limits)


def _counts(results: Results, goals: Sequence[Goal], points: Sequence[GoalsPoint]) -> str:
    rows = sum(bool(point.name) for point in points)
    tried = len(_tried(results))
    short = tried - len(points) - len({*map(results.once, results.above_limits)})
    costs = any(goal.cost for goal in goals)
    named = " and ".join(goal.label + ", the lower the better" * goal.lower_is_better for goal in goals)
    every = {1: "it", 2: "both goals"}.get(len(goals), "every goal")
    return (
        f"Goals: {named}. {count(tried, 'recipe')} were tried; "
        f"{len(points)} have a {'value' if costs else 'score'} for {every} ({rows} of the space's rows, "
        f"{len(points) - rows} explored){f', {short} were stopped early or have not finished' if short else ''}. "
        f"The front was chosen on development parts{' and costs' * costs} only. Being the best of {len(points)}, its "
        f"development scores are optimistic, and the test averages beside them are, too: {CHOSEN}."
    )


def _chance(
    points: Sequence[GoalsPoint], chosen: Sequence[GoalsPoint], off: Sequence[GoalsPoint], known: TrueScores | None
) -> str:
    """How far the measured front is to be believed."""
    if known is None:
        return (
            "**How probable it is that a recipe belongs to the front is unknown: one seed.** It may be on the front, "
            "or off it, by chance. Two seeds or more of every recipe would tell."
        )
    on_front = [known.on_front[place] for place, point in enumerate(points) if point in chosen]
    single = len(chosen) == 1
    sentence = (
        f"The measured front has {count(len(chosen), 'recipe')}; {math.fsum(on_front):.1f} of "
        f"{'it' if single else 'them'} can be expected to belong to the front that very many seeds would show. The "
        "probability of each is computed from the spread between seeds, on the same development items: spreads that "
        "are alike are pooled, and means are drawn together by the noise in them; `?` marks a recipe on the measured "
        "front that more probably is not on the true one."
    )
    if off:
        more = f", of which the first {SHOWN_OFF} are in the table" if len(off) > SHOWN_OFF else ", in the table below"
        noun = "recipe off it has" if len(off) == 1 else "recipes off it have"
        sentence += f" {len(off)} {noun} a probability of {100 * NOTABLE:.0f} % or more{more}."
    return sentence


def _table(
    results: Results,
    goals: Sequence[Goal],
    points: Sequence[GoalsPoint],
    shown: Sequence[GoalsPoint],
    on_front: int,
    known: TrueScores | None,
) -> DataTable:
    lines = []
    for place, point in enumerate(shown, start=1):
        probability = None if known is None else float(known.on_front[points.index(point)])
        doubtful = " ?" if probability is not None and probability < DOUBTFUL else ""
        lines.append(
            [
                f"{place}{doubtful}" if place <= on_front else "off it",
                f"row: {code(point.name)}" if point.name else code(called(results, point.recipe_hash)),
                changes(results, point.records[0]),
                _percent(probability),
                *map(spread, point.scores),
                *(spread(figure(point.records)) for _, figure in results.summaries),
            ]
        )
    head = ["Front", "Recipe", "Differs from the base in", "on the front with"]
    head += [_cost_axis(goal) if goal.cost else f"development: {goal.short}" for goal in goals]
    return DataTable([*head, *(f"test: {text(name)}" for name, _ in results.summaries)], lines, left=3)


def _percent(probability: float | None) -> str:
    if probability is None:
        return DASH
    if probability > 0.99:
        return ">99 %"
    return "<1 %" if probability < 0.01 else f"{100 * probability:.0f} %"


def _axis(goal: Goal) -> str:
    return _cost_axis(goal) if goal.cost else f"{goal.short}, development parts"


def _cost_axis(goal: Goal) -> str:
    unit = "" if goal.short == "seconds" else f" in {goal.unit}"
    return f"{goal.short}{unit} (lower is better)"


def _mark(
    place: int,
    point: GoalsPoint,
    chosen: Sequence[GoalsPoint],
    shown: Sequence[GoalsPoint],
    known: TrueScores | None,
    axes: Sequence[int],
) -> Mark:
    """`axes`: which goal each axis has."""
    x, y = (point.scores[goal].mean for goal in axes)
    number_on_front = next((n for n, other in enumerate(chosen, start=1) if other is point), None)
    if known is None:
        return Mark(x, y, bool(point.name), number_on_front, None)
    barred = len(shown) <= BARRED and any(other is point for other in shown) and not point.values.fixed
    wide, high = known.widths[place][list(axes)].tolist()
    return Mark(
        x,
        y,
        row=bool(point.name),
        place=number_on_front,
        probability=float(known.on_front[place]),
        x_ends=(x - wide, x + wide) if barred else None,
        y_ends=(y - high, y + high) if barred else None,
    )
