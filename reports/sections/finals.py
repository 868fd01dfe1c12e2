"""The finals as a table: finalists, and what they are compared with, each under its fresh seeds."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

from reports.answer import Answer
from reports.answer_parts import Finalist
from reports.answer_words import OVER
from reports.document import Block, DataTable
from reports.guards.words import listed
from reports.looks import look, share
from reports.markdown import DASH, code, number, text
from reports.results import Results
from reports.statistics import CONFIDENCE
from reports.wording import difference, level
from search_spaces.goals import Goal


def write(results: Results, pictures: Path) -> list[Block]:
    """A line for each recipe; empty where the finals are not complete."""
    answer = Answer.of(results)
    if answer.figure is None:
        return []
    references = {one.recipe: (name, one) for name, one in answer.references.items()}  # a row may be two of them
    ranked = sorted(answer.finalists, key=lambda one: [one not in answer.picked, *_downward(one)])
    finalists = {one.recipe: one for one in ranked}
    over = [name for name in OVER if any(name in one.gains for one in finalists.values())]
    goals = results.measured_goals
    beside = [*dict.fromkeys(part for one in ranked for part in one.beside)] if len(goals) > 1 else []
    head = ["Recipe", *(f"over {OVER[name]}" for name in over)]
    head += [*(f"{text(part)}, over {OVER['base']}" for part in beside), text(answer.figure)]
    head += ["fresh seeds", *(f"{goal.short} (development)" for goal in goals)]
    compared = {code(one.name): one for key, one in finalists.items() if key not in references}
    for name, one in references.values():
        gained = {"encoder": answer.base_over_encoder} if name == "base" and answer.base_over_encoder else {}
        compared[_role(name, one)] = finalists.get(one.recipe, dataclasses.replace(one, gains=gained))
    lines = [
        [
            name,
            *(_gain(one, other) for other in over),
            *(_beside(one, part) for part in beside),
            _score(one),
            str(one.seeds),
            *map(_development, goals, one.development),
        ]
        for name, one in compared.items()
    ]
    sure = 100 - 100 * (1 - CONFIDENCE) * share(look(results))
    whole = "finalists and goals" if beside else "finalists"
    how = (
        f"Gains are in points. The low ends of their intervals hold for all {whole} at once, with {sure:.3g} % at "
        "this look, and so do the high ends. The interval of a score is its own, with 95 %. Whole recipes are "
        "compared: what a search varies on purpose, as steps and tokens, is part of the gain."
    )
    flagged = f" No verdict, for the flag {listed([code(flag) for flag in answer.flags])}." if answer.flags else ""
    return [DataTable(head, lines), f"{how}{flagged}"]


def _downward(one: Finalist) -> list[float]:
    """Sorts the best by its fresh development scores first; what has none comes last."""
    return [math.inf if value is None else -value for value in one.development]


def _role(name: str, one: Finalist) -> str:
    """`the base settings`, and the row that has them."""
    return OVER[name] if one.name in OVER[name] else f"{OVER[name]}: {code(one.name)}"


def _development(goal: Goal, value: float | None) -> str:
    """As it was measured: a cost has no sign."""
    return number(None if value is None else goal.upward(value))


def _beside(one: Finalist, part: str) -> str:
    found = one.beside.get(part)
    return DASH if found is None else difference(found.gain, found.low, found.high)


def _score(one: Finalist) -> str:
    return DASH if one.figure is None else level(one.figure.gain, one.figure.low, one.figure.high)


def _gain(one: Finalist, name: str) -> str:
    found = one.gains.get(name)
    return DASH if found is None else difference(found.gain, found.low, found.high)
