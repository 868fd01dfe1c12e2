"""Sentences on limits of cost, and on costs of recipes that cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.facts.best_model import ranking
from reports.facts.results import Results
from reports.ledger import Record
from reports.words.guards import listed, rows_in_words
from reports.words.markdown import code, count, number, text
from search_spaces.goals import SELECTION, Goal
from search_spaces.limits import LIMITS, ended_in_words, of_trials

MAX_NAMED_RECIPES = 3
"""Largest number of recipes above a limit that are named; more are only counted."""


def incomparable(results: Results, recipes: Sequence[Sequence[Record]]) -> str:
    """Return why seconds and memory of these recipes cannot be compared; empty if they can."""
    records = [record for own in recipes for record in own]
    sentences = []
    machines = {record.ran_on for record in records}
    if len(machines) > 1:
        named = "; ".join(map(text, sorted(machines)))
        sentences.append(f"they ran on {count(len(machines), 'kind')} of hardware ({named})")
    sizes = {int(record.training.get("population") or 1) for record in records}
    if sizes != {1}:
        some = "some" if 1 in sizes else "all"
        sentences.append(
            f"{some} trained in populations, of {_range(sizes - {1}, 'trial')}: there a trial's seconds are an even "
            "share of its population's, and its memory is all of the population's"
        )
    shapes = {(int(record.cost.get("workers") or 1), int(record.cost.get("threads") or 0)) for record in records}
    if len(shapes) > 1:
        sentences.append(
            f"they had different numbers of workers ({_range({n for n, _ in shapes}, 'worker')}) or threads"
        )
    if not sentences:
        return ""
    return f"**Seconds and memory of these trials are not all comparable**: {'; '.join(sentences)}."


def limits_in_words(results: Results) -> list[str]:
    """Return which limit ended the study, and which recipes are above a limit of each trial. Empty without limits."""
    sentences = []
    if results.info.limited:
        ended = ended_in_words(results.info.limited, raced=results.info.raced)
        sentences.append(f"**{text(ended[0].upper() + ended[1:])}.**")
    own = of_trials(results.info.limits)
    if own:
        limits = listed([code(f"{name}={value:g}") for name, value in own.items()])
        sentences.append(
            f"Limit{'s' * (len(own) > 1)} of each trial: {limits}. {_above(results)} {_best(results)}".strip()
        )
    return sentences


def _above(results: Results) -> str:
    above = results.above_limits
    if not above:
        return "No finished recipe is above."
    named = [
        f"{rows_in_words(results, [recipe])} ({_took(means)})"
        for recipe, means in list(above.items())[:MAX_NAMED_RECIPES]
    ]
    named += [f"{len(above) - MAX_NAMED_RECIPES} more"] if len(above) > MAX_NAMED_RECIPES else []
    be = "is" if len(above) == 1 else "are"
    return (
        f"Of {count(len(results.recipes), 'finished recipe')}, {len(above)} {be} above: {listed(named)}; "
        f"{'it is' if len(above) == 1 else 'these are'} neither the best nor on the front."
    )


def _took(means: Mapping[str, float]) -> str:
    """Return a recipe's mean costs with their units: `75.2 s, 900 MiB`."""
    return ", ".join(f"{number(value, 1)} {LIMITS[name].unit}".strip() for name, value in means.items())


def _best(results: Results) -> str:
    """Return the best score of the recipes within the limits, beside the best one of those above."""
    goals, ranked = results.measured_goals, ranking(results)
    index = next((index for index, goal in enumerate(goals) if not goal.cost), 0)
    above = [values for key in results.above_limits if (values := results.of_goals(results.recipes[key]))]
    if not ranked:
        return f"No recipe keeps the limit{'s' * (len(of_trials(results.info.limits)) > 1)}." if above else ""
    goal, first = goals[index], max(ranked, key=lambda each: (not each.lost, each.upward(goals)[index]))
    named = rows_in_words(results, [first.recipe_hash])
    sentence = f"The best {word(goal)} within is {number(first.values[index].mean)}, of {named}"
    if above:
        best = max((values[index].mean for values in above), key=goal.upward)
        sentence += f"; of those above the best is {number(best)}"
    return f"{sentence}."


def word(goal: Goal) -> str:
    """Return what a goal measures, for a sentence: `development score`, or a cost such as its seconds."""
    if goal.cost:
        return goal.short
    return "development score" if goal is SELECTION else f"development score for {goal.short}"


def _range(numbers: set[int], noun: str) -> str:
    """Return the range of some numbers with a noun: `1 to 8 trials`."""
    low, high = min(numbers), max(numbers)
    return count(low, noun) if low == high else f"{low} to {count(high, noun)}"
