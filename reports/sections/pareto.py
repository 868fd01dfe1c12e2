"""Several goals at once: recipes on the Pareto front, chosen by development scores and costs alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from reports.document import Block, DataTable, Picture
from reports.facts.best_model import ranking
from reports.facts.cached import cached
from reports.facts.recipe_names import name_of
from reports.facts.results import Results
from reports.facts.standings import Ranked
from reports.plots.goals_front import Mark, pareto_picture
from reports.statistics.fronts import on_front
from reports.statistics.true_scores import TrueScores, true_scores
from reports.words.comparisons import SELECTION_BIAS, changes
from reports.words.costs import incomparable
from reports.words.guards import listed
from reports.words.markdown import DASH, code, count, number, spread, text
from search_spaces.goals import Goal
from search_spaces.limits import of_trials

MAX_OFF_FRONT, NOTABLE_PROBABILITY, DOUBTFUL_PROBABILITY, MAX_BARRED_RECIPES = 10, 0.1, 0.5, 20
"""The table has at most `MAX_OFF_FRONT` recipes off the measured front, those that are on the true front with at least
`NOTABLE_PROBABILITY`. Recipes on the measured front are marked below `DOUBTFUL_PROBABILITY`. The picture has no
intervals if it shows more than `MAX_BARRED_RECIPES` recipes."""


@dataclass(frozen=True)
class GoalsFront:
    """The Pareto front of rows and explored recipes. All have every goal measured, and none is above a limit."""

    goals: Sequence[Goal]
    points: list[Ranked]
    chosen: list[Ranked]
    """Recipes on the measured front, sorted by the first goal, the best first."""
    estimates: TrueScores | None
    """Estimates of the true scores; None if each recipe has one seed only, as the spread over seeds is then unknown."""

    @staticmethod
    @cached
    def of(results: Results) -> GoalsFront:
        """Return the front of a study; computed once."""
        goals, ranked = results.measured_goals, {recipe.recipe_hash: recipe for recipe in ranking(results)}
        points = [ranked[key] for key in _tried(results) if key in ranked] if goals else []
        if not points:
            return GoalsFront(goals, [], [], None)
        return GoalsFront(goals, points, front(points, goals), true_scores([point.by_seed(goals) for point in points]))

    def probability(self, point: Ranked) -> float | None:
        """Return the probability that the recipe is on the true front, over very many seeds; None if unknown."""
        return None if self.estimates is None else float(self.estimates.on_front[self.points.index(point)])

    @property
    def expected(self) -> float:
        """Expected number of recipes on the measured front that are on the true front."""
        return math.fsum(self.probability(point) or 0.0 for point in self.chosen)

    @cached_property
    def off_front(self) -> list[Ranked]:
        """Recipes off the measured front that may belong to the true one, the most probable first."""
        rest = [(self.probability(point) or 0.0, point) for point in self.points if point not in self.chosen]
        notable = [pair for pair in rest if pair[0] >= NOTABLE_PROBABILITY]
        return [point for _, point in sorted(notable, key=lambda pair: -pair[0])]

    @property
    def shown(self) -> list[Ranked]:
        """Recipes in the table: those on the measured front, then `off_front`."""
        return [*self.chosen, *self.off_front[:MAX_OFF_FRONT]]


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the front over the space's goals as a table, with each recipe's probability of belonging to it."""
    if len(results.space.goals) < 2:
        return []
    goals = results.measured_goals
    lacking = [goal for goal in results.goals if goal not in goals]
    missing = [f"The goal {goal.label} is missing: no finished trial has it." for goal in lacking]
    if not goals:
        return [*missing] if len(missing) == 1 else ["No finished trial has a development score for either goal."]
    front = GoalsFront.of(results)
    points = front.points
    if not points:
        other = "other " * bool(results.above_limits)
        return [" ".join([*missing, *_left_out(results), f"No {other}finished trial has {_all_of(goals)}."])]
    costs = any(goal.cost for goal in goals)
    return [
        *missing,
        _counts(results, front),
        *_left_out(results),
        incomparable(results, [point.deciding for point in points]) if costs else "",
        "On one goal the front is the single best recipe." if lacking else "",
        _chance(front),
        _table(results, front),
    ]


def front_picture(results: Results, pictures: Path) -> Picture | None:
    """Draw all recipes over the two goals; None if the study has not exactly two measured goals."""
    if len(results.space.goals) < 2:
        return None
    front = GoalsFront.of(results)
    goals = front.goals
    if len(goals) != 2 or not front.points:
        return None
    axes = sorted(range(2), key=lambda index: not goals[index].cost)  # a cost is on the right
    marks = [_mark(front, point, axes, point.recipe_hash in results.labels) for point in front.points]
    first, second = (goals[index] for index in axes)
    costs = (first.lower_is_better, second.lower_is_better)
    path = pareto_picture(marks, (_axis(first), _axis(second)), pictures / "pareto.svg", costs)
    what = "Values" if any(costs) else "Development scores"
    return Picture(path, f"{what} of all recipes on the two goals")


def pareto_in_short(results: Results) -> str:
    """Return how many recipes are on the front, and the best development score of each goal."""
    front = GoalsFront.of(results)
    goals, points, chosen = front.goals, front.points, front.chosen
    if not points:
        return f"No finished trial has {_all_of(goals)} yet."
    best = [goal.upward(max(values)) for goal, values in zip(goals, _upward(points, goals).T.tolist(), strict=True)]
    tops = " and ".join(
        f"{number(top)} for {goal.short}{' (lower is better)' * goal.lower_is_better}"
        for goal, top in zip(goals, best, strict=True)
    )
    what = "values are" if any(goal.cost for goal in goals) else "development scores are"
    single = len(chosen) == 1
    expected = f" ({front.expected:.1f} of {'it' if single else 'them'} can be expected on the true one)"
    return (
        f"Of {count(len(points), 'recipe')} with {'a value' if what[0] == 'v' else 'a score'} for every goal, "
        f"{len(chosen)} {'is' if single else 'are'} on the measured Pareto front of "
        f"{' and '.join(goal.short for goal in goals)}{expected if front.estimates else ''}; the best {what} {tops}."
    )


def front(points: Sequence[Ranked], goals: Sequence[Goal]) -> list[Ranked]:
    """Return the recipes on the Pareto front, which no other dominates, sorted by the first goal, the best first."""
    kept = [points[index] for index in on_front(_upward(points, goals))]
    return sorted(kept, key=lambda point: point.upward(goals), reverse=True)


def _upward(points: Sequence[Ranked], goals: Sequence[Goal]) -> np.ndarray:
    """Return goal values of shape (points, goals), with signs such that higher is better."""
    return np.array([point.upward(goals) for point in points])


def _tried(results: Results) -> dict[str, None]:
    """Return the recipe hashes of rows and explored recipes in order, without copies."""
    return dict.fromkeys(map(results.counted_as, [*results.labels, *results.explored]))


def _all_of(goals: Sequence[Goal]) -> str:
    return "a value of every goal" if any(goal.cost for goal in goals) else "a development score for every goal"


def _left_out(results: Results) -> list[str]:
    """Return how many recipes are left out of the front because of a limit."""
    above = len(results.above_limits)
    limits = listed([code(f"{name}={value:g}") for name, value in of_trials(results.info.limits).items()])
    be = "recipe is" if above == 1 else "recipes are"
    return [f"{above} {be} above a limit ({limits}), and left out."] if above else []


def _counts(results: Results, front: GoalsFront) -> str:
    goals, points = front.goals, front.points
    rows = sum(point.recipe_hash in results.labels for point in points)
    tried = len(_tried(results))
    short = tried - len(points) - len({*map(results.counted_as, results.above_limits)})
    costs = any(goal.cost for goal in goals)
    named = " and ".join(goal.label + ", the lower the better" * goal.lower_is_better for goal in goals)
    every = {1: "it", 2: "both goals"}.get(len(goals), "every goal")
    return (
        f"Goals: {named}. {count(tried, 'recipe')} were tried; "
        f"{len(points)} have a {'value' if costs else 'score'} for {every} ({rows} of the space's rows, "
        f"{len(points) - rows} explored){f', {short} were stopped early or have not finished' if short else ''}. "
        f"The front was chosen on development parts{' and costs' * costs} only. Being the best of {len(points)}, its "
        f"development scores are optimistic, and the test averages beside them are, too: {SELECTION_BIAS}."
    )


def _chance(front: GoalsFront) -> str:
    """Explain how reliable the measured front is."""
    if front.estimates is None:
        return (
            "**How probable it is that a recipe belongs to the front is unknown: one seed.** It may be on the front, "
            "or off it, by chance. Two seeds or more of every recipe would tell."
        )
    chosen, off, single = front.chosen, front.off_front, len(front.chosen) == 1
    sentence = (
        f"The measured front has {count(len(chosen), 'recipe')}; {front.expected:.1f} of "
        f"{'it' if single else 'them'} can be expected to belong to the front that very many seeds would show. The "
        "probability of each is computed from the spread between seeds, on the same development items: spreads that "
        "are alike are pooled, and means are drawn together by the noise in them; `?` marks a recipe on the measured "
        "front that more probably is not on the true one."
    )
    if off:
        more = (
            f", of which the first {MAX_OFF_FRONT} are in the table"
            if len(off) > MAX_OFF_FRONT
            else ", in the table below"
        )
        noun = "recipe off it has" if len(off) == 1 else "recipes off it have"
        sentence += f" {len(off)} {noun} a probability of {100 * NOTABLE_PROBABILITY:.0f} % or more{more}."
    return sentence


def _table(results: Results, front: GoalsFront) -> DataTable:
    lines = []
    for position, point in enumerate(front.shown, start=1):
        probability = front.probability(point)
        doubtful = " ?" if probability is not None and probability < DOUBTFUL_PROBABILITY else ""
        lines.append(
            [
                f"{position}{doubtful}" if point in front.chosen else "off it",
                "row: " * (point.recipe_hash in results.labels) + code(name_of(results, point.recipe_hash)),
                changes(results, point.deciding[0]),
                _percent(probability),
                *map(spread, point.values),
                *(spread(results.of_figure(point.deciding, figure)) for figure in results.figures),
            ]
        )
    head = ["Front", "Recipe", "Differs from the base in", "on the front with"]
    head += [_cost_axis(goal) if goal.cost else f"development: {goal.short}" for goal in front.goals]
    return DataTable([*head, *(f"test: {text(figure.name)}" for figure in results.figures)], lines, left=3)


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


def _mark(front: GoalsFront, point: Ranked, axes: Sequence[int], is_row: bool) -> Mark:
    """Return the recipe's mark in the picture. `axes`: which goals are on the axes, as indices."""
    x, y = (point.values[goal].mean for goal in axes)
    position = front.chosen.index(point) + 1 if point in front.chosen else None
    mark = Mark(x, y, is_row, position, front.probability(point))
    shown = front.shown
    if front.estimates is None or point.values[0].fixed or point not in shown or len(shown) > MAX_BARRED_RECIPES:
        return mark
    wide, high = front.estimates.widths[front.points.index(point)][list(axes)].tolist()
    return replace(mark, x_ends=(x - wide, x + wide), y_ends=(y - high, y + high))
