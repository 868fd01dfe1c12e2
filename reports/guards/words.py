"""How flags name recipes and their values."""

from __future__ import annotations

from collections.abc import Collection

from reports.markdown import count, verbatim
from reports.recipe_names import called
from reports.results import Results

FEW = 3
"""So many rows are named, more are counted."""


def rows_in_words(results: Results, recipes: Collection[str]) -> str:
    """`A`, `B` and 2 explored recipes: rows first, in the space's order; of more than a few the number."""
    order = {recipe_hash: place for place, recipe_hash in enumerate(results.labels)}
    rows = [results.labels[recipe] for recipe in sorted(recipes & order.keys(), key=lambda recipe: order[recipe])]
    explored = sorted(set(recipes) - order.keys())
    named = [verbatim(label) for label in rows[:FEW]]
    if len(rows) > FEW:
        named.append(count(len(rows) - FEW, "more row"))
    if len(explored) == 1 and not rows:
        named.append(f"the recipe {verbatim(called(results, explored[0]))}")
    elif explored:
        named.append(f"{count(len(explored), 'explored recipe')}")
    return listed(named)


def has(recipes: Collection[str]) -> str:
    """The verb behind `rows_in_words`."""
    return "has" if len(recipes) == 1 else "have"


def listed(items: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join([*([", ".join(items[:-1])] if len(items) > 1 else []), *items[-1:]])
