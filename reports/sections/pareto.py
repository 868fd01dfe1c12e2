"""Two goals at once: the recipes that no other beats on both, chosen on development parts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.ledger import Record
from reports.markdown import count, number, spread, table
from reports.plots.goals_front import Mark, pareto_picture
from reports.results import Results
from reports.sections.words import changes
from reports.statistics import Measured, Noise
from search_spaces.goals import GOALS

SHOWN_NEAR = 10
"""So many recipes within noise of the front are in the table."""


@dataclass(frozen=True)
class Point:
    """A recipe with a development score for each goal. `name` is the row's label, empty for an explored recipe."""

    name: str
    recipe_hash: str
    records: list[Record]
    scores: tuple[Measured, ...]


def write(results: Results, pictures: Path) -> str:
    """The front over the space's goals: a table, a picture, and how much of it is beyond noise."""
    if not results.space.goals:
        return ""
    goals = _measured_goals(results)
    lacking = [goal for goal in results.space.goals if goal not in goals]
    parts = [f"The goal {GOALS[goal].label} is missing: no finished trial has it." for goal in lacking]
    if not goals:
        return parts[0] if len(parts) == 1 else "No finished trial has a development score for either goal."
    points = _points(results, goals)
    if not points:
        return " ".join([*parts, "No finished trial has a development score for every goal."])
    noises = [Noise.of(results.goal(records, goal) for records in results.recipes.values()) for goal in goals]
    chosen = front(points)
    near = near_front(points, noises)
    parts.append(_said(results, goals, points))
    if lacking:
        parts.append("On one goal the front is the single best recipe.")
    parts.append(_table(results, goals, chosen, near[:SHOWN_NEAR]))
    if len(goals) == 2:
        path = pareto_picture([_mark(point, chosen, near) for point in points], _axes(goals), pictures / "pareto.svg")
        parts.append(f"![Development scores of all recipes on the two goals]({path.parent.name}/{path.name})")
    parts.append(_noise(goals, points, noises, len(near)))
    return "\n\n".join(parts)


def pareto_in_short(results: Results) -> str:
    """How many recipes are on the front, and the best development score of each goal."""
    goals = _measured_goals(results)
    points = _points(results, goals) if goals else []
    if not points:
        return "No finished trial has a development score for every goal yet."
    best = [max(point.scores[place].mean for point in points) for place in range(len(goals))]
    tops = " and ".join(f"{number(top)} for {_short(goal)}" for goal, top in zip(goals, best, strict=True))
    on_front = len(front(points))
    return (
        f"Of {count(len(points), 'recipe')}, {on_front} {'is' if on_front == 1 else 'are'} on the Pareto front of "
        f"{' and '.join(_short(goal) for goal in goals)}; the best development scores are {tops}."
    )


def front(points: Sequence[Point]) -> list[Point]:
    """The points that no other dominates, best first by the first goal."""
    kept = [point for point in points if not any(_dominates(other, point) for other in points)]
    return sorted(kept, key=lambda point: (*(-score.mean for score in point.scores), point.recipe_hash))


def near_front(points: Sequence[Point], noises: Sequence[Noise | None]) -> list[Point]:
    """Dominated points that no other beats by more than the noise between seeds on any goal.

    Empty where the noise is unknown.
    """
    if any(noise is None for noise in noises):
        return []
    known = [noise for noise in noises if noise is not None]

    def clearly(better: Point, worse: Point) -> bool:
        return _dominates(better, worse) and any(
            a.mean - b.mean > noise.threshold(a.draws, b.draws)
            for a, b, noise in zip(better.scores, worse.scores, known, strict=True)
        )

    on_front = {point.recipe_hash for point in front(points)}
    kept = [
        point
        for point in points
        if point.recipe_hash not in on_front and not any(clearly(other, point) for other in points)
    ]
    return sorted(kept, key=lambda point: (*(-score.mean for score in point.scores), point.recipe_hash))


def _dominates(better: Point, worse: Point) -> bool:
    pairs = [(a.mean, b.mean) for a, b in zip(better.scores, worse.scores, strict=True)]
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


def _points(results: Results, goals: Sequence[str]) -> list[Point]:
    """Rows and explored recipes that have every goal."""
    points = []
    for recipe_hash in dict.fromkeys([*results.labels, *results.explored]):
        records = results.recipes.get(recipe_hash, [])
        scores = [score for goal in goals if (score := results.goal(records, goal)) is not None]
        if len(scores) == len(goals):
            points.append(Point(results.labels.get(recipe_hash, ""), recipe_hash, records, tuple(scores)))
    return points


def _measured_goals(results: Results) -> list[str]:
    """The goals that some trial has a score for."""
    recipes = results.recipes.values()
    return [goal for goal in results.space.goals if any(results.goal(records, goal) for records in recipes)]


def _said(results: Results, goals: Sequence[str], points: Sequence[Point]) -> str:
    rows = sum(bool(point.name) for point in points)
    tried = len(results.labels) + len(results.explored)
    short = tried - len(points)
    return (
        f"Goals: {' and '.join(GOALS[goal].label for goal in goals)}. {count(tried, 'recipe')} were tried; "
        f"{len(points)} have a score for {'both goals' if len(goals) == 2 else 'it'} ({rows} of the space's rows, "
        f"{len(points) - rows} explored){f', {short} were stopped early or have not finished' if short else ''}. "
        f"The front was chosen on development parts only: the test averages beside it had no say. Being the best of "
        f"{len(points)}, its development scores are optimistic."
    )


def _table(results: Results, goals: Sequence[str], chosen: Sequence[Point], near: Sequence[Point]) -> str:
    lines = []
    for place, point in enumerate([*chosen, *near], start=1):
        lines.append(
            [
                str(place) if place <= len(chosen) else "within noise of it",
                f"row: {point.name}" if point.name else "explored",
                f"`{point.recipe_hash}`",
                changes(results, point.records[0]),
                *map(spread, point.scores),
                *(spread(figure(point.records)) for _, figure in results.summaries),
            ]
        )
    head = ["Front", "Recipe", "Hash", "Differs from the base in", *(f"development: {_short(goal)}" for goal in goals)]
    return table([*head, *(f"test: {name}" for name, _ in results.summaries)], lines, left=4)


def _noise(goals: Sequence[str], points: Sequence[Point], noises: Sequence[Noise | None], near: int) -> str:
    known = [(goal, noise) for goal, noise in zip(goals, noises, strict=True) if noise is not None]
    if len(known) < len(goals):
        return (
            "There is one seed a recipe, so the noise between seeds is unknown: a recipe may be on the front, or off "
            "it, by chance."
        )
    seeds = max(score.seeds for point in points for score in point.scores)
    limits = " and ".join(f"{noise.threshold(seeds, seeds):.2f} points of {_short(goal)}" for goal, noise in known)
    said = (
        f"Differences below {limits} are within the noise between seeds (95 %, {count(seeds, 'seed')} a recipe). "
        f"{count(near, 'recipe')} off the front {'is' if near == 1 else 'are'} beaten by less than that on every goal"
    )
    return said + (f"; the first {SHOWN_NEAR} are in the table." if near > SHOWN_NEAR else ".")


def _short(goal: str) -> str:
    """`STS` of `STS (Spearman on ...)`."""
    return GOALS[goal].label.split(" (")[0]


def _axes(goals: Sequence[str]) -> tuple[str, str]:
    first, second = (f"{_short(goal)}, development parts" for goal in goals)
    return first, second


def _mark(point: Point, chosen: Sequence[Point], near: Sequence[Point]) -> Mark:
    place = next((n for n, other in enumerate(chosen, start=1) if other.recipe_hash == point.recipe_hash), None)
    x, y = point.scores
    return Mark(
        x=x.mean,
        y=y.mean,
        x_error=x.std,
        y_error=y.std,
        row=bool(point.name),
        place=place,
        near=any(other.recipe_hash == point.recipe_hash for other in near),
    )
