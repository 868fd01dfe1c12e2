"""Two goals at once: the recipes that no other beats on both, chosen on development parts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reports.ledger import Record
from reports.markdown import DASH, code, count, number, spread, table, text
from reports.plots.goals_front import Mark, pareto_picture
from reports.results import Results
from reports.sections.words import changes
from reports.statistics import Measured
from reports.true_scores import Scored, TrueScores, true_scores
from search_spaces.goals import GOALS

SHOWN_OFF, NOTABLE, DOUBTFUL, BARRED = 10, 0.1, 0.5, 20
"""So many recipes off the measured front are in the table, from this probability on; below that one a recipe on it is
marked as doubtful; with more recipes in the table than that, the picture has no intervals."""


@dataclass(frozen=True, eq=False)
class Point:
    """A recipe with a development score for each goal. `name` is the row's label, empty for an explored recipe."""

    name: str
    recipe_hash: str
    records: list[Record]
    scores: tuple[Measured, ...]
    values: Scored


def write(results: Results, pictures: Path) -> str:
    """The front over the space's goals: a table, a picture, and how probably each recipe belongs to it."""
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
    known = true_scores([point.values for point in points])
    chosen = front(points)
    off = _notable(points, chosen, known)
    parts.append(_said(results, goals, points))
    if lacking:
        parts.append("On one goal the front is the single best recipe.")
    parts.append(_chance(points, chosen, off, known))
    parts.append(_table(results, goals, points, [*chosen, *off[:SHOWN_OFF]], len(chosen), known))
    if len(goals) == 2:
        shown = [*chosen, *off[:SHOWN_OFF]]
        marks = [_mark(place, point, chosen, shown, known) for place, point in enumerate(points)]
        path = pareto_picture(marks, _axes(goals), pictures / "pareto.svg")
        parts.append(f"![Development scores of all recipes on the two goals]({path.parent.name}/{path.name})")
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


def _notable(points: Sequence[Point], chosen: Sequence[Point], known: TrueScores | None) -> list[Point]:
    """Points off the measured front that may well belong to it, the most probable first."""
    if known is None:
        return []
    on_front = {point.recipe_hash for point in chosen}
    pairs = [
        (float(probability), point)
        for point, probability in zip(points, known.on_front, strict=True)
        if point.recipe_hash not in on_front and probability >= NOTABLE
    ]
    return [point for _, point in sorted(pairs, key=lambda pair: (-pair[0], pair[1].recipe_hash))]


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
            label = results.labels.get(recipe_hash, "")
            points.append(Point(label, recipe_hash, records, tuple(scores), _values(records, goals, scores[0].fixed)))
    return points


def _values(records: Sequence[Record], goals: Sequence[str], fixed: bool) -> Scored:
    """Of the seeds that have every goal."""
    found = [[GOALS[goal].of(record.scores) for goal in goals] for record in records]
    return Scored(np.array([values for values in found if None not in values], dtype=float), fixed)


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


def _chance(points: Sequence[Point], chosen: Sequence[Point], off: Sequence[Point], known: TrueScores | None) -> str:
    """How far the measured front is to be believed."""
    if known is None:
        return (
            "**How probable it is that a recipe belongs to the front is unknown: one seed.** It may be on the front, "
            "or off it, by chance. Two seeds or more of every recipe would tell."
        )
    on_front = [known.on_front[place] for place, point in enumerate(points) if point in chosen]
    one = len(chosen) == 1
    said = (
        f"The measured front has {count(len(chosen), 'recipe')}; {float(sum(on_front)):.1f} of "
        f"{'it' if one else 'them'} can be expected to belong to the front that very many seeds would show. The "
        "probability of each is computed from the spread between seeds, on the same development items: spreads that "
        "are alike are pooled, and means are drawn together by the noise in them; `?` marks a recipe on the measured "
        "front that more probably is not on the true one."
    )
    if off:
        more = f", of which the first {SHOWN_OFF} are in the table" if len(off) > SHOWN_OFF else ", in the table below"
        noun = "recipe off it has" if len(off) == 1 else "recipes off it have"
        said += f" {len(off)} {noun} a probability of {100 * NOTABLE:.0f} % or more{more}."
    return said


def _table(
    results: Results,
    goals: Sequence[str],
    points: Sequence[Point],
    shown: Sequence[Point],
    on_front: int,
    known: TrueScores | None,
) -> str:
    lines = []
    for place, point in enumerate(shown, start=1):
        probability = None if known is None else float(known.on_front[points.index(point)])
        doubtful = " ?" if probability is not None and probability < DOUBTFUL else ""
        lines.append(
            [
                f"{place}{doubtful}" if place <= on_front else "off it",
                f"row: {code(point.name)}" if point.name else "explored",
                f"`{point.recipe_hash}`",
                changes(results, point.records[0]),
                _percent(probability),
                *map(spread, point.scores),
                *(spread(figure(point.records)) for _, figure in results.summaries),
            ]
        )
    head = ["Front", "Recipe", "Hash", "Differs from the base in", "on the front with"]
    head += [f"development: {_short(goal)}" for goal in goals]
    return table([*head, *(f"test: {text(name)}" for name, _ in results.summaries)], lines, left=4)


def _percent(probability: float | None) -> str:
    if probability is None:
        return DASH
    if probability > 0.99:
        return ">99 %"
    return "<1 %" if probability < 0.01 else f"{100 * probability:.0f} %"


def _short(goal: str) -> str:
    """`STS` of `STS (Spearman on ...)`."""
    return GOALS[goal].label.split(" (")[0]


def _axes(goals: Sequence[str]) -> tuple[str, str]:
    first, second = (f"{_short(goal)}, development parts" for goal in goals)
    return first, second


def _mark(place: int, point: Point, chosen: Sequence[Point], shown: Sequence[Point], known: TrueScores | None) -> Mark:
    x, y = (score.mean for score in point.scores)
    number_on_front = next((n for n, other in enumerate(chosen, start=1) if other is point), None)
    if known is None:
        return Mark(x, y, bool(point.name), number_on_front, None)
    barred = len(shown) <= BARRED and any(other is point for other in shown) and not point.values.fixed
    wide, high = known.widths[place].tolist()
    return Mark(
        x,
        y,
        row=bool(point.name),
        place=number_on_front,
        probability=float(known.on_front[place]),
        x_ends=(x - wide, x + wide) if barred else None,
        y_ends=(y - high, y + high) if barred else None,
    )
