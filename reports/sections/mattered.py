"""What mattered in the search: the best score over time, and the settings that decide the scores."""

from __future__ import annotations

import math
from pathlib import Path

from reports.document import Block, Picture
from reports.facts.answer import Answer
from reports.facts.best_model import ranking
from reports.facts.results import Results
from reports.ledger import seconds_of
from reports.plots.courses import search_picture
from reports.sections.explored import best_row
from reports.sections.importance import in_short
from reports.words.commands import why_command
from reports.words.costs import word
from reports.words.markdown import verbatim


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the best score over time, the keys that matter, and a command for more. Empty without a search."""
    return [*_course(results, pictures), *in_short(results, pictures), *_why(results)] if results.explored else []


def _why(results: Results) -> list[str]:
    """Return the command that explains the answer of a study of own data. Importance is about all recipes instead."""
    kind = Answer.of(results).kind
    if not results.info.request.train or kind == "unfinished":
        return []
    what = "which settings made the gain of the answer" if kind == "use" else "what stands in the way of a gain"
    return [f"This is of all recipes of the search; {what}: {verbatim(why_command(results.info))}"]


def _course(results: Results, pictures: Path) -> list[Block]:
    """Draw the best score so far over time. Empty for several goals or parts of the data: scores have no one order."""
    if len(results.goals) > 1 or results.whole_recipes:
        return []
    means = {recipe.recipe_hash: recipe.values[0].mean for recipe in ranking(results)}
    goal, course, took = results.goals[0], list[tuple[float, float]](), dict[str, list[float]]()
    for record in results.records:
        took.setdefault(record.recipe_hash, []).append(seconds_of(record, "seconds") or 0.0)
    spent = 0.0
    for recipe_hash in results.explored:
        spent += math.fsum(took.get(recipe_hash, ()))
        if recipe_hash in means:
            course.append((spent, means[recipe_hash]))
    if not course:
        return []
    best = best_row(results)
    path = search_picture(
        course,
        best.values[0].mean if best else None,
        pictures / "search.svg",
        word(goal),
        lower_is_better=goal.lower_is_better,
    )
    return [Picture(path, f"The best {word(goal)} so far over the time of the search")]
