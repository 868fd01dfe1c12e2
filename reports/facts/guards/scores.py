"""Flags on doubtful scores: predictions that are missing, degenerate or of other items, and items seen in training."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from reports.facts.guards import Flag
from reports.facts.quantity import quantity
from reports.facts.results import Results
from reports.ledger import Record
from trainables.senteval.items import IN_DEVELOPMENT, SEEN
from trainables.senteval.tasks import TASKS, kind_of

MAX_SEEN_GAP = 0.01
"""Two recipes have no verdict on a task if the shares of its test items that they saw differ by more than this."""
FEW_SEEN, SEEN_ALIKE = 0.005, 0.001
"""Seen test items hardly affect gains if every recipe saw a share below `FEW_SEEN` of a task's items, and the shares of
all trained recipes differ by less than `SEEN_ALIKE`."""
COLLAPSED_COSINE = 0.99
"""An encoder has collapsed if the mean cosine of two sentences (anisotropy) is above this."""
COLLAPSED_RANGE = 1e-3
"""An encoder has also collapsed if the range of all its cosines is smaller than this."""
LEAST_IN_DEVELOPMENT, MOST_HELD = 0.1, 0.5
"""A search has no verdict on a task if development parts hold the share `LEAST_IN_DEVELOPMENT` of its test items or
more, and with training more than `MOST_HELD`."""
CHANCE_DISTANCE = 0.05
"""An accuracy is suspicious if it is this close, in points, to the published share of the largest class."""

Exposure = Mapping[str, tuple[int, int] | None]
"""By recipe hash: how many of a task's test items were seen in training, and the number of all. None if unknown."""
Degenerate = Literal["one class", "equal cosines", "constant cosines", "largest class"]
"""Problem of predictions. `constant cosines` is found by their correlation, `largest class` by the accuracy alone."""


def items(results: Results) -> list[Flag]:
    """Flag predictions that are missing, give other scores than the ledger, or are of other items in some recipes."""
    tested: dict[str, set[str]] = {}
    lacking: dict[str, set[str]] = {}
    wrong: list[tuple[Record, str]] = []
    for record, task in _cells(results):
        tested.setdefault(record.recipe_hash, set()).add(task)
        if results.predictions.of_task(record, task) is None:
            lacking.setdefault(record.recipe_hash, set()).add(task)
        elif results.predictions.fits(record, task) is False:
            wrong.append((record, task))
    by_tasks: dict[frozenset[str], list[str]] = {}
    for recipe, tasks in lacking.items():
        by_tasks.setdefault(frozenset(tasks), []).append(recipe)
    flags = [
        _no_predictions(results, recipes, frozenset() if all(tested[recipe] == tasks for recipe in recipes) else tasks)
        for tasks, recipes in by_tasks.items()
    ]
    if wrong:
        names = sorted({task for _, task in wrong})
        facts = {"tasks": names, **_farthest(results, *wrong[0])}
        flags.append(Flag("items", "other scores", _recipes(wrong), _with_dev(names), facts))
    return [*flags, *_other_items(results)]


def degenerate(results: Results) -> list[Flag]:
    """Flag encoders that give all sentences one vector; predictions of one class for every item; equal cosines."""
    collapsed = {
        recipe: own
        for recipe, records in results.recipes.items()
        if (own := [record for record in records if _has_collapsed(results, record)])
    }
    certain: dict[str, dict[str, Degenerate]] = {}
    likely: dict[str, dict[str, float]] = {}
    for record, task in _cells(results):
        if record in collapsed.get(record.recipe_hash, []):
            continue
        if kind := _degenerate(results, record, task):
            certain.setdefault(task, {})[record.recipe_hash] = kind
        elif (accuracy := _of_largest_class(results, record, task)) is not None:
            likely.setdefault(task, {})[record.recipe_hash] = accuracy
    flags = [_collapsed(results, collapsed)] if collapsed else []
    for task, kinds in certain.items():
        flags.append(Flag("degenerate", next(iter(kinds.values())), frozenset(kinds), frozenset([task])))
    for task, accuracies in likely.items():
        facts, recipes = {"accuracy": next(iter(accuracies.values()))}, frozenset(accuracies)
        flags.append(Flag("degenerate", "largest class", recipes, frozenset([task]), facts, blocks=False))
    return flags


def sizes(results: Results) -> list[Flag]:
    """Flag records whose number of test items differs from the number of stored predictions."""
    others: list[tuple[Record, dict[str, Any]]] = []
    for record, task in _cells(results):
        answers, examples = results.predictions.of_task(record, task), record.scores[task].get("examples")
        size = examples[-1] if isinstance(examples, list | tuple) and examples else examples
        if answers is not None and isinstance(size, int) and size != len(answers.gold):
            others.append((record, {"task": task, "stored": size, "computed": len(answers.gold)}))
    tasks = frozenset(facts["task"] for _, facts in others)
    return [Flag("sizes", "other", _recipes(others), tasks, others[0][1])] if others else []


def overlap(results: Results) -> list[Flag]:
    """Flag test items with a sentence that is also, at least nearly, among the training sentences.

    One item is enough for a flag: levels are then too high. Verdicts are forbidden if the shares of a task's test items
    that two recipes saw differ by more than 1 point. If both saw the same share, their difference is valid, but for a
    search if development parts, by which it chose, hold a tenth of the items, and with training most of them.
    """
    trained = [recipe for recipe in results.recipes if recipe in results.trained]
    by_task: dict[str, dict[str, tuple[int, int] | None]] = {}
    for recipe, task in dict.fromkeys((record.recipe_hash, task) for record, task in _cells(results)):
        records = [record for record in results.recipes[recipe] if record.tested]
        by_task.setdefault(task, {})[recipe] = _exposure(records, task) if recipe in results.trained else (0, 1)
    if trained and not any(exposure.get(recipe) for exposure in by_task.values() for recipe in trained):
        return [Flag("overlap", "unknown", frozenset(), blocks=False)]
    exposed = {
        task: exposure
        for task, exposure in by_task.items()
        if any(counts and counts[0] for counts in exposure.values())
    }
    hardly = {task for task, exposure in exposed.items() if _hardly_matters(exposure, trained)}
    flags = []
    for little in (False, True):
        if some := {task: exposure for task, exposure in exposed.items() if (task in hardly) == little}:
            flags.append(_exposed(some, little))
    in_topics = {number for table, column in results.topics for _, number in quantity(table, column).weights}
    if trained and any(number.startswith("dev_") for number in in_topics):
        flags.append(Flag("overlap", "development", frozenset(), blocks=False))
    return [*flags, *_unequal_shares(by_task), *_mostly_held(results)]


def _cells(results: Results) -> Iterable[tuple[Record, str]]:
    """Pairs of a trial and a task with a test score that predictions can give."""
    for records in results.recipes.values():
        for record in records:
            for task in filter(TASKS.__contains__, record.scores):
                if _tested(record, task):
                    yield record, task


def _tested(record: Record, task: str) -> bool:
    """Whether a task has a score of its test items for which predictions should be stored. Not for finding images:
    older studies stored none for it."""
    numbers = [name for name in TASKS[task].numbers if not name.startswith("dev_")]
    scored = any(record.scores[task].get(name) is not None for name in numbers)
    return scored and kind_of(task).target != "images"


def _no_predictions(results: Results, recipes: Sequence[str], tasks: frozenset[str]) -> Flag:
    """Flag recipes without predictions for `tasks` (empty: for all tested tasks), with the error of a broken file."""
    keys = [record.key for recipe in recipes for record in results.recipes[recipe]]
    problem = next((problem for key in keys if (problem := results.predictions.problems.get(key))), None)
    facts = {"tasks": sorted(tasks), "problem": problem}
    return Flag("items", "no predictions", frozenset(recipes), _with_dev(tasks), facts)


def _farthest(results: Results, record: Record, task: str) -> dict[str, Any]:
    """Return the score of the task that differs most from its value recomputed from predictions, with both values."""
    scores, again = record.scores[task], results.predictions.recomputed(record, task)
    away = {
        name: math.inf if value is None else abs(scores[name] - value)
        for name, value in again.items()
        if isinstance(scores.get(name), int | float)
    }
    name = max(away, key=lambda name: away[name])
    return {"task": task, "stored": scores[name], "computed": again[name]}


def _other_items(results: Results) -> list[Flag]:
    """A flag for each task whose test items differ between recipes."""
    digests: dict[str, dict[str, set[str]]] = {}
    for record, task in _cells(results):
        if (answers := results.predictions.of_task(record, task)) is not None:
            own = digests.setdefault(task, {}).setdefault(record.recipe_hash, set())
            own.add(answers.items_digest or answers.gold_digest)
    flags = []
    for task, of_recipe in digests.items():
        if len(set().union(*of_recipe.values())) > 1:
            values = {recipe: next(iter(own)) if len(own) == 1 else None for recipe, own in of_recipe.items()}
            usual = max(values.values(), key=lambda value: (value is not None, list(values.values()).count(value)))
            odd = frozenset(recipe for recipe, value in values.items() if value is None or value != usual)
            flags.append(Flag("items", "other items", odd, frozenset([task]), crossed_by="unequal", values=values))
    return flags


def _degenerate(results: Results, record: Record, task: str) -> Degenerate | None:
    """Return the problem of a task's predictions if there surely is one, else None."""
    answers, kind = results.predictions.of_task(record, task), kind_of(task)
    if answers is not None:
        span = np.ptp(answers.predicted) if np.ptp(answers.gold) > 0 else math.inf
        if kind.predicted == "classes" and span == 0:
            return "one class"
        return "equal cosines" if kind.predicted == "cosines" and span < COLLAPSED_RANGE else None
    names = [name for name in TASKS[task].numbers if not name.startswith("dev_")]
    constant = kind.predicted == "cosines" and 0.0 in [record.scores[task].get(name) for name in names]
    return "constant cosines" if constant else None


def _of_largest_class(results: Results, record: Record, task: str) -> float | None:
    """Return the accuracy if no predictions were kept and it is close to the share of the largest class; else None."""
    kind, chance = kind_of(task), TASKS[task].chance
    accuracy = record.scores[task].get(kind.chance)
    answers = results.predictions.of_task(record, task)
    if kind.predicted == "cosines" or answers is not None or chance is None or accuracy is None:
        return None
    return float(accuracy) if abs(accuracy - chance) <= CHANCE_DISTANCE else None


def _has_collapsed(results: Results, record: Record) -> bool:
    """Whether all sentences get nearly the same vector, by `record.geometry` or by all stored cosines."""
    if (record.geometry.get("anisotropy") or 0.0) > COLLAPSED_COSINE:
        return True
    tasks = [task for task in record.scores if task in TASKS and kind_of(task).predicted == "cosines"]
    predictions = [results.predictions.of_task(record, part) for task in tasks for part in (task, f"dev.{task}")]
    spans = [np.ptp(answers.predicted) for answers in predictions if answers is not None]
    return bool(spans) and max(spans) < COLLAPSED_RANGE


def _collapsed(results: Results, collapsed: dict[str, list[Record]]) -> Flag:
    """Return one flag, on every score, for all encoders that have collapsed."""
    cosines = [record.geometry.get("anisotropy") for records in collapsed.values() for record in records]
    some_seeds = any(len(records) < len(results.recipes[recipe]) for recipe, records in collapsed.items())
    lowest = min((value for value in cosines if value is not None), default=None)
    return Flag("degenerate", "collapsed", frozenset(collapsed), facts={"cosine": lowest, "some_seeds": some_seeds})


def _exposed(by_task: Mapping[str, Exposure], little: bool) -> Flag:
    """Return the flag on test items that training saw. `little`: gains are hardly affected."""
    shares = {
        task: [_share(counts) for counts in exposure.values() if counts and counts[0]]
        for task, exposure in by_task.items()
    }
    largest = sorted(shares, key=lambda task: -max(shares[task]))
    recipes = frozenset(
        key for exposure in by_task.values() for key, counts in exposure.items() if counts and counts[0]
    )
    facts = {"shares": [(task, min(shares[task]), max(shares[task])) for task in largest]}
    kind = "seen little" if little else "seen"
    return Flag("overlap", kind, recipes, frozenset(by_task), facts, blocks=False, marks=not little)


def _unequal_shares(by_task: Mapping[str, Exposure]) -> Iterator[Flag]:
    """Yield a flag for each task if recipes saw different, or unknown, shares of its test items in training."""
    for task, exposure in by_task.items():
        values = {recipe: None if counts is None else 1 - _share(counts) for recipe, counts in exposure.items()}
        shares = [value for value in values.values() if value is not None] or [1.0]
        unknown = None in values.values()
        if unknown or max(shares) - min(shares) > MAX_SEEN_GAP * max(shares):
            odd = frozenset(recipe for recipe, value in values.items() if value is None or 1 - value > MAX_SEEN_GAP)
            part = {"task": task, "least": 1 - max(shares), "most": 1 - min(shares), "unknown": unknown}
            yield Flag(
                "overlap", "unequal", odd, frozenset([task]), parts=(part,),
                crossed_by="unequal", values=values, tolerance=MAX_SEEN_GAP,
            )  # fmt: skip


def _mostly_held(results: Results) -> list[Flag]:
    """Return a flag if development parts, by which a search chose, and training hold most test items of a task."""
    shares: dict[str, list[float]] = {}
    recipes = set[str]()
    for record, task in _cells(results) if results.info.finals else ():
        answers = results.predictions.of_task(record, task)
        marks = answers.further_arrays.get(SEEN) if answers else None
        if marks is None or (marks.astype(int) & IN_DEVELOPMENT > 0).mean() < LEAST_IN_DEVELOPMENT:
            continue
        if (share := float((marks > 0).mean())) > MOST_HELD:
            shares.setdefault(task, []).append(share)
            recipes.add(record.recipe_hash)
    facts = {"shares": [(task, min(own), max(own)) for task, own in shares.items()]}
    return [Flag("overlap", "mostly held", frozenset(recipes), frozenset(shares), facts)] if shares else []


def _hardly_matters(exposure: Exposure, trained: list[str]) -> bool:
    """Whether every trained recipe saw the same small share of a task's test items."""
    shares = [_share(exposure[recipe]) for recipe in trained if recipe in exposure] or [0.0]
    return None not in exposure.values() and max(shares) < FEW_SEEN and max(shares) - min(shares) < SEEN_ALIKE


def _exposure(records: list[Record], task: str) -> tuple[int, int] | None:
    """Return how many of the task's test items training saw (most under any seed), and of how many; None if unknown."""
    counts = [record.data_read.get("overlap", {}).get(task) for record in records]
    if not counts or None in counts:
        return None
    return max(((own["seen"], own["items"]) for own in counts), key=_share)


def _share(counts: tuple[int, int] | None) -> float:
    return counts[0] / counts[1] if counts and counts[1] else 0.0


def _recipes(records: Iterable[tuple[Record, object]]) -> frozenset[str]:
    return frozenset(record.recipe_hash for record, _ in records)


def _with_dev(tasks: Iterable[str]) -> frozenset[str]:
    """Return the names of the tasks' test items (`TASK`) and development items (`dev.TASK`)."""
    return frozenset(part for task in tasks for part in (task, f"dev.{task}"))
