"""The finals as a table: finalists, and what they are compared with, each under its fresh seeds."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

from reports.answer import Answer, Finalist
from reports.answer_words import OVER
from reports.guards.words import listed
from reports.looks import look, share
from reports.markdown import DASH, code, number, table, text
from reports.results import Results
from reports.statistics import CONFIDENCE
from reports.wording import difference, level


def write(results: Results, pictures: Path) -> str:
    """A line for each recipe; empty where the finals are not complete."""
    answer = Answer.of(results)
    if answer.figure is None:
        return ""
    references = {one.recipe: (name, one) for name, one in answer.references.items()}  # a row may be two of them
    ranked = sorted(answer.finalists, key=lambda one: [one not in answer.picked, *_downward(one)])
    finalists = {one.recipe: one for one in ranked}
    over = [name for name in OVER if any(name in one.gains for one in finalists.values())]
    goals = [goal.short for goal in results.measured_goals]
    head = ["Recipe", *(f"over {OVER[name]}" for name in over), text(answer.figure), "fresh seeds"]
    head += [f"{goal} (development)" for goal in goals]
    lines = [_line(code(one.name), one, over) for key, one in finalists.items() if key not in references]
    for name, one in references.values():
        gained = {"encoder": answer.base_over_encoder} if name == "base" and answer.base_over_encoder else {}
        lines.append(_line(_role(name, one), finalists.get(one.recipe, dataclasses.replace(one, gains=gained)), over))
    sure = 100 - 100 * (1 - CONFIDENCE) * share(look(results))
    said = (
        f"Gains are in points. Their intervals hold for all finalists at once, with {sure:.3g} % at this look; "
        "the interval of a score is its own, with 95 %."
    )
    if any(one.in_floors for one in answer.finalists):
        said += " In brackets: the gain in noise floors, which are the standard deviation of one seed's score."
    flagged = f" No verdict, for the flag {listed([code(flag) for flag in answer.flags])}." if answer.flags else ""
    return f"{table(head, lines)}\n\n{said}{flagged}"


def _downward(one: Finalist) -> list[float]:
    """Sorts the best by its fresh development scores first; what has none comes last."""
    return [math.inf if value is None else -value for value in one.development]


def _role(name: str, one: Finalist) -> str:
    """`the base settings`, and the row that has them."""
    return OVER[name] if one.name in OVER[name] else f"{OVER[name]}: {code(one.name)}"


def _line(name: str, one: Finalist, over: list[str]) -> list[str]:
    development = [number(value) for value in one.development]
    return [name, *(_gain(one, other) for other in over), _score(one), str(one.seeds), *development]


def _score(one: Finalist) -> str:
    return DASH if one.figure is None else level(one.figure.gain, one.figure.low, one.figure.high)


def _gain(one: Finalist, name: str) -> str:
    found = one.gains.get(name)
    if found is None:
        return DASH
    floors = f" ({one.in_floors[name]:.1f})" if name in one.in_floors else ""
    return difference(found.gain, found.low, found.high) + floors
