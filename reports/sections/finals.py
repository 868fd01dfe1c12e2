"""The finals as a table: finalists and the recipes they are compared with, each under its fresh seeds."""

from __future__ import annotations

import math
from pathlib import Path

from reports.document import Block, DataTable
from reports.facts.answer import Answer
from reports.facts.answer_parts import Finalist
from reports.facts.part_scores import busy, passed_over
from reports.facts.recipe_names import name_of
from reports.facts.results import Results
from reports.ledger.finals import TIE_MARGIN, share_in_words
from reports.words.comparisons import interval, level
from reports.words.gains import REFERENCE_NAMES, reference
from reports.words.guards import listed
from reports.words.markdown import code, duration, number, text
from search_spaces.goals import Goal

MAX_NAMED_RECIPES = 3
"""Largest number of good recipes left out of the finals that are named."""
NONE_CHOSEN = "No recipe of the search was judged: none scored above the base settings in development."
CLASSIFIED = (
    "Accuracy is of a classifier, a logistic regression on embeddings of the labelled rows that are not tested: each "
    "line of this table has one of its own."
)


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the table of the finals, a line for each recipe; empty if the finals are not complete."""
    answer, finals = Answer.of(results), results.info.finals
    if answer.figure is None:
        return []
    references = {other.recipe: (name, other) for name, other in answer.references.items()}  # roles may share a recipe
    ranked = sorted(answer.finalists, key=lambda finalist: [finalist not in answer.picked, *_downward(finalist)])
    finalists = {finalist.recipe: finalist for finalist in ranked}
    every = [*finalists.values(), *answer.references.values()]
    over = [name for name in REFERENCE_NAMES if any(name in finalist.gains for finalist in every)]
    goals = results.measured_goals
    beside = [*dict.fromkeys(part for finalist in ranked for part in finalist.beside)] if len(goals) > 1 else []
    head = ["Recipe", *(f"over {text(reference(answer, name))}" for name in over)]
    head += [*(f"{text(part)}, over {REFERENCE_NAMES['base']}" for part in beside), text(answer.figure)]
    head += ["seeds", *(f"{goal.short} (development)" for goal in goals)]
    compared = {code(finalist.name): finalist for key, finalist in finalists.items() if key not in references}
    for name, finalist in references.values():
        compared[_role(name, finalist)] = finalists.get(finalist.recipe, finalist)
    lines = [
        [
            name,
            *(interval(finalist.gains.get(other)) for other in over),
            *(interval(finalist.beside.get(part)) for part in beside),
            level(finalist.figure),
            str(finalist.seeds),
            *map(_development, goals, finalist.development),
        ]
        for name, finalist in compared.items()
    ]
    whole = "finalists and goals" if beside else "finalists"
    how = (
        "Gains are in points. Seeds are fresh ones; of a recipe without any, those of the search. Each end of a "
        f"gain's interval holds with 95 %, for all {whole} and all looks at this study together; that of a score is "
        "its own. A gain can be sure although the intervals of two scores overlap: both are of the same items. Whole "
        "recipes are compared: what a search varies on purpose, as steps and tokens, is part of the gain. Scores "
        "of development and test are of different items: compare within a column."
    )
    flagged = f" No verdict, for the flag {listed([code(flag) for flag in answer.flags])}." if answer.flags else ""
    return [
        DataTable(head, lines),
        *([NONE_CHOSEN] * bool(finals and finals.chosen and not finals.finalists and not passed_over(results))),
        *([CLASSIFIED] * any("test_knn_accuracy" in check.numbers for check in answer.checks)),
        " ".join([f"{how}{flagged}", *_seeds(answer), *_busy(results)]),
        *_passed_over(results),
    ]


def _passed_over(results: Results) -> list[str]:
    passed = passed_over(results)
    if passed is None:
        return []
    where = "Before the finals" if passed.share == 1 else f"On {share_in_words(passed.share)}"
    ahead = [f"{code(name_of(results, key))} by {number(more)}" for key, more in passed.leads.items()]
    return [
        f"{where} these scored higher in development than {code(name_of(results, passed.last))}: "
        f"{listed(ahead[:MAX_NAMED_RECIPES])}{' and others' * (len(ahead) > MAX_NAMED_RECIPES)}. They were not judged, "
        "so one may be better: a limit left them out, or another recipe within "
        f"{TIE_MARGIN:g} points trains in two thirds of the time."
    ]


def _seeds(answer: Answer) -> list[str]:
    """Explain why the base settings have another number of seeds than finalists; empty if they have the same number."""
    base = answer.base
    others = {finalist.seeds for finalist in answer.finalists if base and finalist.recipe != base.recipe}
    if base is None or not others or others == {base.seeds}:
        return []
    lost = answer.left_out or answer.failed or any(finalist.collapsed for finalist in answer.finalists)
    if base.seeds > max(others) and not lost:
        why = f"{REFERENCE_NAMES['base']} ran under more seeds in places that finalists did not need"
    else:
        why = "not all recipes came to as many seeds"
    return [f"{why[0].upper()}{why[1:]}; each interval counts its own seeds."]


def _busy(results: Results) -> list[str]:
    """Report how much training times of the same work differ, if by much: then the machine was busy."""
    if (times := busy(results)) is None:
        return []
    low, high = map(duration, times)
    return [f"Trainings of the same work took {low} to {high}: the machine was busy, so take costs as rough."]


def _downward(finalist: Finalist) -> list[float]:
    """Return a sort key of a finalist: its development scores under fresh seeds, the best first, missing ones last."""
    return [math.inf if value is None else -value for value in finalist.development]


def _role(name: str, finalist: Finalist) -> str:
    """Return what a recipe in the table is, `the base settings`, with the name of the row if it is one."""
    role = REFERENCE_NAMES[name]
    return role if finalist.name in role else f"{role}: {code(finalist.name)}"


def _development(goal: Goal, value: float | None) -> str:
    """Return a development value as it was measured. Goals have costs with the opposite sign."""
    return number(None if value is None else goal.upward(value))
