"""How many seeds each recipe got in a race over seeds, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from reports.document import Block, DataTable
from reports.facts.recipe_names import name_of
from reports.facts.results import Results
from reports.facts.seed_race import Question, RecipeRace, study_race
from reports.statistics.sequential import LOST, LOST_AT_WORST, Course, State, race_p_factor
from reports.words.markdown import code, count, number

MAX_NAMED_RECIPES = 3
"""Largest number of recipes with the same reason that are named; the others are only counted."""
AMONG_ALL: Mapping[State, str] = {
    "going": "seed {seed} is needed: {close}, so it may be the best{among}",
    "behind": "{after} {other} is {gap} points ahead: it cannot be the best{among} any more",
    "best": "{after} no other can be the best{among} any more",
    "on the front": "{after} no other can beat it on every goal",
    "failed": "{after} a trial of it failed or was stopped",
    "most": "all {most}: with one fewer it could still win{among}",
}
BESIDE_BASELINE: Mapping[State, str] = {
    "going": "seed {seed} is needed: whether a row is above the baseline is still open",
    "decided": "{after} its place beside the baseline is decided",
    "undecided": "{after} it is too near the baseline for {most} to tell them apart",
    "failed": "{after} a trial of it, or of the baseline, failed or was stopped",
    "most": "all {most}: its place beside the baseline was open to the end",
}
"""Why a row goes on or stopped in the race against the baseline, by the state of its race."""


def write(results: Results, pictures: Path) -> list[Block]:
    """Write how the race decided, what it saved, a table of recipes, and what it means for verdicts."""
    raced = study_race(results)
    if not raced:
        return []
    least, most = len(results.info.seeds), results.info.most_seeds or 0
    trained = [recipe for recipe in raced.values() if not recipe.fixed and recipe.seeds_run]
    spent, whole = sum(recipe.seeds_run for recipe in trained), most * len(trained)
    without = sum(not recipe.seeds_run for recipe in raced.values())
    return [
        f"Every recipe that ran to its end got {count(least, 'seed')}, and up to {most} where more could change who is "
        f"best{', or whether a row is above the baseline' if results.space.baseline else ''}: {spent:,} trials of the "
        f"{whole:,} that {most} seeds of each of these {count(len(trained), 'recipe')} would be "
        f"({number(100 * spent / max(whole, 1), 0)} %)."
        + (f" {count(without, 'recipe')} more did not race: no seed of them ran to its end." if without else ""),
        _table(results, {name: recipe for name, recipe in raced.items() if recipe.seeds_run}),
        _meaning(least, most, len(results.goals)),
    ]


def _table(results: Results, raced: dict[str, RecipeRace]) -> DataTable:
    """Return a table with one line for all recipes of the same number of seeds and reason, most seeds first."""

    def named(recipe_hash: str) -> str:
        return code(name_of(results, recipe_hash))

    alike: dict[tuple[int, str, str], list[str]] = {}
    for name, recipe in sorted(raced.items(), key=lambda item: (-item[1].seeds_run, item[1].lost)):
        more = "wanted" if recipe.going and recipe.seeds_run < recipe.most else "no"
        alike.setdefault((recipe.seeds_run, why(recipe, named), more), []).append(named(name))
    lines = [
        [
            ", ".join(
                names[:MAX_NAMED_RECIPES]
                + [f"{len(names) - MAX_NAMED_RECIPES} more"] * (len(names) > MAX_NAMED_RECIPES)
            ),
            reason,
            str(seeds),
            more,
        ]
        for (seeds, reason, more), names in alike.items()
    ]
    return DataTable(["Recipes", "why", "seeds", "more"], lines, left=2)


def _meaning(least: int, most: int, goals: int) -> str:
    first = max(least, 2)
    winner = "the recipe that would win" if goals == 1 else "each recipe that would be on the front"
    wild = (
        f" where recipes scatter alike, and of up to {100 * LOST_AT_WORST:.0f} % where one scatters far more widely "
        "than many others, since it may leave after one seed, when nobody knows"
    ) * (least == 1)
    early = f" and by {race_p_factor(first, least, most):.0f} with fewer" if most > first else ""
    return (
        "Recipes raced by development scores, in rounds: all that are still in it have the same seeds, and only these "
        f"are compared. Of those that ran to their end {winner} with {count(most, 'seed')} leaves "
        f"the race with a probability of at most {100 * LOST:.0f} %{wild}. A race that stops by the scores makes "
        "chance look like a gain more often, so every interval and every p of a comparison here is widened: p counts "
        f"by {race_p_factor(most, least, most):.0f} with {count(most, 'seed')}{early}, after which a verdict is "
        "as sure as in a study without a race."
    )


def why(recipe: RecipeRace, called: Callable[[str], str]) -> str:
    """Return why a recipe goes on in the race or stopped. `called` returns the name of a recipe hash."""
    if recipe.fixed:
        return "no seed changes it"
    if not recipe.courses:
        return "it lacks seeds that every recipe has"
    reasons = [
        _sentence(question, course, recipe.most, called)
        for question, course in recipe.courses.items()
        if course.seeds == recipe.seeds or course.state == "going"
    ]
    return "; ".join(dict.fromkeys(reasons))


def _sentence(question: Question, course: Course, most: int, called: Callable[[str], str]) -> str:
    if question == "baseline" and not course.other and course.state in ("decided", "most"):  # the baseline itself
        return f"rows were compared with it over {count(course.seeds, 'seed')}"
    sentences = BESIDE_BASELINE if question == "baseline" else AMONG_ALL
    other = called(course.other) if course.other else ""
    return sentences[course.state].format(
        after=f"after {count(course.seeds, 'seed')}",
        among=" of the rows" if question == "best row" else "",
        close=_close(course, other),
        gap=number(course.gap),
        most=count(most, "seed"),
        other=other,
        seed=course.seeds,
    )


def _close(course: Course, other: str) -> str:
    if not other:
        return "nobody knows yet how far seeds scatter"
    return f"{other} is only {number(abs(course.gap))} points {'ahead' if course.gap > 0 else 'behind'}"
