"""Scores that are not what they seem: without their predictions, of one class, of other parts, of sentences seen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from reports.guards import Flag
from reports.guards.words import listed, rows_in_words
from reports.ledger import LEDGER, Record, read_json
from reports.markdown import count, number, text
from reports.quantity import quantity
from reports.results import Results
from search_spaces.averages import AVERAGES
from trainables.errors import UserError
from trainables.senteval.tasks import TASKS, kind_of

EXPOSED = 0.01
"""Recipes that saw shares of a task's test items which are further apart have no verdict there."""
ROUNDING = 0.01
"""So far, in points, an average may lie from its parts."""
FEW_SEEN, SEEN_ALIKE = 0.005, 0.001
"""Where no recipe saw a larger share of a task's test items, and all trained ones the same but for so much, gains
between them are hardly touched."""
ALIKE = 0.99
"""Above this mean cosine of two sentences (anisotropy) an encoder has collapsed."""
NARROW = 1e-3
"""Within so short a span lie the cosines of a collapsed encoder."""
CHANCE = 0.05
"""So close, in points, to the published share of the largest class an accuracy is suspicious."""
FEW = 4
"""So many tasks are named, more are counted."""

Touched = dict[str, dict[str, str]]
"""By recipe and task, what was found."""


def items(results: Results) -> list[Flag]:
    """Predictions must be there, give the ledger's scores, and be of the same items for every recipe."""
    lacking: dict[str, set[str]] = {}
    wrong: Touched = {}
    tested: dict[str, set[str]] = {}
    for record, task in _cells(results):
        tested.setdefault(record.recipe_hash, set()).add(task)
        if not results.predictions.has(record, task):
            lacking.setdefault(record.recipe_hash, set()).add(task)
        elif results.predictions.fits(record, task) is False:
            wrong.setdefault(record.recipe_hash, {})[task] = _beside(results, record, task)
    flags = []
    by_tasks: dict[frozenset[str], list[str]] = {}
    for recipe, those in lacking.items():
        by_tasks.setdefault(frozenset(those), []).append(recipe)
    for tasks, recipes in by_tasks.items():
        of_all = all(tested[recipe] == tasks for recipe in recipes)
        which = "" if of_all else f" on {_tasks(tasks)}"
        said = (
            f"no predictions{which} were kept for {rows_in_words(results, recipes)}: how far these scores depend on "
            "the choice of test items is unknown"
        )
        touched = frozenset[str]() if of_all else _with_dev(tasks)
        flags.append(Flag("items", said + _why(results, recipes), frozenset(recipes), touched))
    if wrong:
        tasks = frozenset(task for found in wrong.values() for task in found)
        said = (
            f"the ledger's scores are not those of the predictions that were kept, for {rows_in_words(results, wrong)} "
            f"on {_tasks(tasks)} ({_first(wrong)}): one of the two was changed"
        )
        flags.append(Flag("items", said, frozenset(wrong), _with_dev(tasks)))
    return [*flags, *_other_items(results)]


def degenerate(results: Results) -> list[Flag]:
    """Encoders that give all sentences one vector; predictions of one class for every item; cosines all the same."""
    certain: Touched = {}
    likely: Touched = {}
    collapsed = {
        recipe: those
        for recipe, records in results.recipes.items()
        if (those := [record for record in records if _has_collapsed(results, record)])
    }
    for record, task in _cells(results):
        found, sure = _degenerate(results, record, task)
        if found and record not in collapsed.get(record.recipe_hash, []):
            (certain if sure else likely).setdefault(record.recipe_hash, {})[task] = found
    flags = [_collapsed(results, collapsed)] if collapsed else []
    for touched, blocks in ((certain, True), (likely, False)):
        by_task: dict[str, list[str]] = {}
        for recipe, tasks in touched.items():
            for task in tasks:
                by_task.setdefault(task, []).append(recipe)
        for task, recipes in by_task.items():
            what = touched[recipes[0]][task]
            said = f"{what} in {rows_in_words(results, recipes)} on {text(task)}: this score shows no skill"
            flags.append(Flag("degenerate", said, frozenset(recipes), frozenset([task]), blocks=blocks))
    return flags


def parts(results: Results) -> list[Flag]:
    """Averages that old records stored, and the numbers of test items, must fit what they are made of."""
    averages: Touched = {}
    sizes: Touched = {}
    for records in results.recipes.values():
        for record in records:
            for name, stored, computed in _stored_averages(results, record):
                averages.setdefault(record.recipe_hash, {})[name] = (
                    f"{text(name)} {number(stored)}, not {number(computed)}"
                )
    for record, task in _cells(results):
        kept, said = results.predictions.of_task(record, task), record.scores[task].get("examples")
        scored = said[-1] if isinstance(said, list | tuple) and said else said
        if kept is not None and isinstance(scored, int) and scored != len(kept.gold):
            sizes.setdefault(record.recipe_hash, {})[task] = f"{text(task)} {scored:,}, not {len(kept.gold):,}"
    flags = []
    if averages:
        said = (
            f"averages in the ledger are not those of their tasks, for {rows_in_words(results, averages)} "
            f"({_first(averages)}): one of the two was changed"
        )
        flags.append(Flag("parts", said, frozenset(averages)))
    if sizes:
        tasks = frozenset(task for found in sizes.values() for task in found)
        said = (
            f"the ledger counts other test items than there are predictions, for {rows_in_words(results, sizes)} "
            f"({_first(sizes)}): they are of different data"
        )
        flags.append(Flag("parts", said, frozenset(sizes), tasks))
    return flags


def overlap(results: Results) -> list[Flag]:
    """Test items with a sentence that also stands in the training sentences.

    One is enough to be said: levels are then too high. Verdicts are forbidden where two recipes saw shares of a task's
    test items that are more than 1 point apart; where both saw the same, their difference stands.
    """
    seen: dict[str, dict[str, tuple[int, int] | None]] = {}  # by task and recipe, (seen, items); None is unknown
    for recipe, task in dict.fromkeys((record.recipe_hash, task) for record, task in _cells(results)):
        records = [record for record in results.recipes[recipe] if record.tested]
        seen.setdefault(task, {})[recipe] = _seen(records, task) if recipe in results.trained else (0, 1)
    trained = [recipe for recipe in results.recipes if recipe in results.trained]
    if trained and not any(those.get(recipe) for those in seen.values() for recipe in trained):
        return [Flag("overlap", "no record says whether test sentences stand among the training sentences",
                     frozenset(), blocks=False)]  # fmt: skip
    exposed = {
        task: {recipe for recipe, counts in those.items() if counts and counts[0]} for task, those in seen.items()
    }
    exposed = {task: recipes for task, recipes in exposed.items() if recipes}
    flags = []
    hardly = {task for task in exposed if _hardly_matters(seen[task], trained)}
    for little in (False, True):
        touched = {task: recipes for task, recipes in exposed.items() if (task in hardly) == little}
        if touched:
            flags.append(_exposed(results, seen, touched, little))
    if trained and any(number.startswith("dev_") for number in _in_topics(results)):
        said = "the figures above are of test items; training sentences may stand among the development items, too"
        flags.append(Flag("overlap", said, frozenset(), blocks=False))
    for task, of_recipes in seen.items():
        values = {recipe: None if counts is None else 1 - _share(counts) for recipe, counts in of_recipes.items()}
        known = [value for value in values.values() if value is not None]
        if None in values.values() or max(known, default=1) - min(known, default=1) > EXPOSED * max(known, default=1):
            odd = frozenset(recipe for recipe, value in values.items() if value is None or 1 - value > EXPOSED)
            low, high = 100 * (1 - max(known, default=1)), 100 * (1 - min(known, default=1))
            unknown = "; unknown for some" if None in values.values() else ""
            own = f"{text(task)} ({number(low, 1)} to {number(high, 1)} %{unknown})"
            said = f"rows saw different shares of the test items in training, of {own}: a difference may be memory"
            flags.append(Flag("overlap", said, odd, frozenset([task]), crossed_by="unequal", values=values,
                              tolerance=EXPOSED, own=own))  # fmt: skip
    return flags


def _cells(results: Results) -> Iterable[tuple[Record, str]]:
    """Every trial and task with a test score that predictions can give."""
    for records in results.recipes.values():
        for record in records:
            for task in filter(TASKS.__contains__, record.scores):
                if _tested(record, task):
                    yield record, task


def _tested(record: Record, task: str) -> bool:
    """Whether a task has a score of its test items that predictions should be kept for: older studies kept none from
    which it follows how images are found."""
    numbers = [name for name in TASKS[task].numbers if not name.startswith("dev_")]
    there = any(record.scores[task].get(name) is not None for name in numbers)
    return there and kind_of(task).target != "images"


def _degenerate(results: Results, record: Record, task: str) -> tuple[str, bool]:
    """What is degenerate in a task's predictions, empty where nothing is, and whether that is certain."""
    kept, numbers = results.predictions.of_task(record, task), record.scores[task]
    kind = kind_of(task)
    if kept is not None:
        span = np.ptp(kept.predicted) if np.ptp(kept.gold) > 0 else math.inf
        if kind.predicted == "classes" and span == 0:
            return "one class is predicted for every item", True
        if kind.predicted == "cosines" and span < NARROW:
            return "every pair has nearly the same cosine", True
        return "", True
    if kind.predicted == "cosines":
        scores = [numbers.get(name) for name in TASKS[task].numbers if not name.startswith("dev_")]
        return ("the correlation is exactly 0, as for constant cosines", True) if 0.0 in scores else ("", True)
    chance, accuracy = TASKS[task].chance, numbers.get(kind.chance)
    if chance is None or accuracy is None or abs(accuracy - chance) > CHANCE:
        return "", False
    return f"the accuracy is {number(accuracy)}, the share of the largest class (no predictions were kept),", False


def _has_collapsed(results: Results, record: Record) -> bool:
    """Whether all sentences get nearly the same vector: by the geometry, or by every cosine that was kept."""
    anisotropy = record.geometry.get("anisotropy")
    if isinstance(anisotropy, int | float) and anisotropy > ALIKE:
        return True
    tasks = [task for task in record.scores if task in TASKS and kind_of(task).predicted == "cosines"]
    kept = [results.predictions.of_task(record, part) for task in tasks for part in (task, f"dev.{task}")]
    spans = [np.ptp(found.predicted) for found in kept if found is not None]
    return bool(spans) and max(spans) < NARROW


def _collapsed(results: Results, collapsed: dict[str, list[Record]]) -> Flag:
    """One flag for all encoders that have collapsed: it touches every score."""
    found = [record.geometry.get("anisotropy") for records in collapsed.values() for record in records]
    known = [value for value in found if isinstance(value, int | float)]
    details = [f"the mean cosine of two sentences is {number(min(known), 5)} or more"] if known else []
    if any(len(records) < len(results.recipes[recipe]) for recipe, records in collapsed.items()):
        details.append("not under every seed")
    detail = f" ({'; '.join(details)})" if details else ""
    said = (
        f"collapsed: all sentences get nearly the same vector in {rows_in_words(results, collapsed)}"
        f"{detail}, so these scores are made of rounding errors and show no skill"
    )
    return Flag("degenerate", said, frozenset(collapsed))


def _other_items(results: Results) -> list[Flag]:
    """A flag for each task whose test items are not the same in all recipes."""
    digests: dict[str, dict[str, set[str]]] = {}
    named = {task: True for _, task in _cells(results)}
    kept = [
        (record, task, found)
        for record, task in _cells(results)
        if (found := results.predictions.of_task(record, task)) is not None
    ]
    for _, task, found in kept:
        named[task] = named[task] and bool(found.named)
    for record, task, found in kept:
        of_task = digests.setdefault(task, {})
        of_task.setdefault(record.recipe_hash, set()).add(found.named if named[task] else found.by_gold)
    flags = []
    for task, of_recipe in digests.items():
        if len(set().union(*of_recipe.values())) > 1:
            values = {recipe: next(iter(those)) if len(those) == 1 else None for recipe, those in of_recipe.items()}
            usual = max(values.values(), key=lambda value: (value is not None, list(values.values()).count(value)))
            odd = frozenset(recipe for recipe, value in values.items() if value is None or value != usual)
            said = (
                f"the test items of {text(task)} are others in {rows_in_words(results, odd)} than in the other rows: "
                "these scores are of different tests"
            )
            flags.append(Flag("items", said, odd, frozenset([task]), crossed_by="unequal", values=values))
    return flags


def _stored_averages(results: Results, record: Record) -> Iterable[tuple[str, float, float]]:
    """Averages that the record's file holds, as old ones do, and that are not those of its scores."""
    try:
        stored: Any = read_json(results.folder / LEDGER / f"{record.key}.json", "a record").get("averages")
    except UserError:
        return
    for name, value in stored.items() if isinstance(stored, dict) else ():
        if name in AVERAGES and isinstance(value, int | float):
            computed = AVERAGES[name].of(record.scores)
            if computed is not None and not abs(computed - value) <= ROUNDING:
                yield name, float(value), computed


def _exposed(
    results: Results, seen: dict[str, dict[str, tuple[int, int] | None]], exposed: dict[str, set[str]], little: bool
) -> Flag:
    """What training saw of the test items of these tasks, by recipe; `little` where gains are hardly touched."""
    largest = sorted(exposed, key=lambda task: -max(_share(seen[task][recipe]) for recipe in exposed[task]))
    recipes = frozenset().union(*exposed.values())
    most = [f"{text(task)} {_percent(seen[task], exposed[task])}" for task in largest[:FEW]]
    more = f" and {count(len(largest) - FEW, 'more task')}" if len(largest) > FEW else ""
    means = (
        "these scores may be slightly too high, equally in all of these rows; gains between them are hardly touched"
        if little
        else "these scores may be too high"
    )
    said = (
        f"test sentences stand among the training sentences of {rows_in_words(results, recipes)} "
        f"({listed(most) if not more else ', '.join(most) + more} of the test items): {means}"
    )
    return Flag("overlap", said, recipes, frozenset(exposed), blocks=False, marks=not little)


def _hardly_matters(seen: dict[str, tuple[int, int] | None], trained: list[str]) -> bool:
    """Whether every trained recipe saw the same small share of a task's test items."""
    shares = [_share(seen[recipe]) for recipe in trained if recipe in seen] or [0.0]
    return None not in seen.values() and max(shares) < FEW_SEEN and max(shares) - min(shares) < SEEN_ALIKE


def _in_topics(results: Results) -> set[str]:
    """The numbers that the study's averages are made of."""
    return {score[1] for table, column in results.topics for score in quantity(table, column).weights}


def _seen(records: list[Record], task: str) -> tuple[int, int] | None:
    """Of the task's test items those seen in training, the most under any seed, and all; None where unknown."""
    found = [record.read.get("overlap", {}).get(task) for record in records]
    if not found or None in found:
        return None
    return max(((counts["seen"], counts["items"]) for counts in found), key=_share)


def _share(counts: tuple[int, int] | None) -> float:
    return counts[0] / counts[1] if counts and counts[1] else 0.0


def _percent(counts: dict[str, tuple[int, int] | None], recipes: Iterable[str]) -> str:
    """`3.1 %`, or the range over recipes; `below 0.1 %` for less."""
    shares = [100 * _share(counts[recipe]) for recipe in recipes]
    ends = [f"{number(share, 1)} %" if share >= 0.1 else "below 0.1 %" for share in (min(shares), max(shares))]
    return " to ".join(dict.fromkeys(ends))


def _beside(results: Results, record: Record, task: str) -> str:
    """`MRPC 74.78 in the ledger, 66.49 by the predictions`."""
    scores = record.scores[task]
    away = {
        name: math.inf if value is None else abs(scores[name] - value)
        for name, value in results.predictions.again(record, task).items()
        if isinstance(scores.get(name), int | float)
    }
    name = max(away, key=lambda name: away[name])
    by_predictions = results.predictions.again(record, task)[name]
    return f"{text(task)} {number(scores[name])} in the ledger, {number(by_predictions)} by the predictions"


def _why(results: Results, recipes: Iterable[str]) -> str:
    """The first file of predictions that is broken, in brackets."""
    keys = [record.key for recipe in recipes for record in results.recipes[recipe]]
    problem = next((problem for key in keys if (problem := results.predictions.problems.get(key))), None)
    return f" ({text(problem)})" if problem else ""


def _first(touched: Touched) -> str:
    """The first of what was found."""
    return next(iter(next(iter(touched.values())).values()))


def _with_dev(tasks: Iterable[str]) -> frozenset[str]:
    """The tasks' test items and their development items."""
    return frozenset(part for task in tasks for part in (task, f"dev.{task}"))


def _tasks(tasks: Iterable[str]) -> str:
    """`MR and CR`, or how many."""
    names = sorted(tasks)
    return listed([text(name) for name in names]) if len(names) <= FEW else count(len(names), "task")
