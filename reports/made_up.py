"""Made-up predictions for tests: of a few items a task, with scores that are exactly those of the predictions."""

from __future__ import annotations

import copy
import functools
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from trainables.senteval.file_layouts import FILE_LAYOUTS
from trainables.senteval.items import Answers
from trainables.senteval.kinds import KINDS
from trainables.senteval.kinds.relatedness import REGRESSED
from trainables.senteval.tasks import TASKS, Task

ITEMS = 60
"""Items of a task. With this number the classes, folds and sub-corpora of SentEval's tasks are of equal sizes."""
SHARED = 0.8
"""Share of a prediction's error that is the item's own, the same under every recipe."""
STEPS = 10
"""Steps of the search for predictions that give a score."""
Arrays = dict[str, np.ndarray]

VERSIONS = {"trainables": "aaaa1111", "torch": "2.13.0", "transformers": "5.23.0"}
"""Versions that made-up trials ran."""
DATA = {
    "corpus": {"source": "scenes", "pairs": 12000, "fingerprint": "abc123"},
    "senteval": {"source": "scenes", "fingerprint": "def456"},
    "encoder": {"name": "scenes-small", "fingerprint": "789abc", "fresh": []},
}
"""Data that every made-up trial read, as in its record."""


def with_predictions(
    scores: Mapping[str, Mapping[str, Any]], recipe_hash: str, seed: int
) -> tuple[dict[str, dict[str, Any]], Arrays]:
    """Return scores close to the given ones, and the arrays of predictions from which they follow exactly.

    Arrays are named as in a file of predictions: `TASK`, `gold.TASK`, `parts.TASK`, `regressed.TASK`, `items.TASK`.
    Tasks without test scores, and retrieval, have none. Results are cached: they take long to make, and repeat.
    """
    return copy.deepcopy(_made(json.dumps(scores), tuple(TASKS[name] for name in scores), recipe_hash, seed))


@functools.lru_cache(maxsize=2000)
def _made(
    as_text: str, tasks: tuple[Task, ...], recipe_hash: str, seed: int
) -> tuple[dict[str, dict[str, Any]], Arrays]:
    scores: dict[str, dict[str, Any]] = json.loads(as_text)
    chance = np.random.default_rng([zlib.crc32(recipe_hash.encode()), seed])
    new: dict[str, dict[str, Any]] = {}
    arrays: Arrays = {}
    for task, (name, numbers) in zip(tasks, scores.items(), strict=True):
        new[name] = dict(numbers)
        target = KINDS[task.kind].target
        if target == "classes" and numbers.get("test_accuracy") is not None:
            new[name] |= _classes(task, numbers, chance, arrays)
        elif target == "scores":
            new[name] |= _pairs(task, numbers, chance, arrays)
        if name in arrays:
            new[name]["examples"] = ITEMS
            arrays[f"items.{name}"] = np.array(f"made up {name}")
    return new, arrays


def _of_task(task: Task) -> np.random.Generator:
    """Return a random generator that is the same for every trial."""
    return np.random.default_rng(zlib.crc32(task.name.encode()))


def _classes(task: Task, numbers: Mapping[str, Any], chance: np.random.Generator, arrays: Arrays) -> dict[str, float]:
    """Make as many of the easiest items right as the accuracy needs; the other items get the next class."""
    fixed, classes = _of_task(task), max(2, len(task.labels))
    gold = fixed.permutation(np.arange(ITEMS) % classes)
    ease = SHARED * fixed.standard_normal(ITEMS) + (1 - SHARED**2) ** 0.5 * chance.standard_normal(ITEMS)
    right = np.argsort(-ease)[: round(numbers["test_accuracy"] * ITEMS / 100)]
    predicted = (gold + 1) % classes
    predicted[right] = gold[right]
    arrays[task.name], arrays[f"gold.{task.name}"] = predicted, gold
    return _numbers(task, Answers(predicted, gold), numbers)


def _pairs(task: Task, numbers: Mapping[str, Any], chance: np.random.Generator, arrays: Arrays) -> dict[str, float]:
    """Make cosines, and outputs of a regressor, that agree with the gold scores as closely as the numbers need."""
    fixed = _of_task(task)
    gold = fixed.uniform(0, 5, ITEMS).round(2)
    own = fixed.standard_normal(ITEMS)
    parts = 1 if KINDS[task.kind].splits else len(task.files) // (FILE_LAYOUTS[task.layout].files_per_split or 1)
    sizes = np.full(parts, ITEMS // parts)
    best: dict[str, float] = {}
    for array in ("", REGRESSED):

        def given_by(predicted: np.ndarray, more: str = array) -> dict[str, float]:
            scored = _numbers(task, Answers(predicted, gold, sizes, {more: predicted} if more else {}), numbers)
            return {name: value for name, value in scored.items() if name.endswith("_regressor") == bool(more)}

        first = next(iter(given_by(gold)), None)
        if first is None:
            continue
        noise = SHARED * own + (1 - SHARED**2) ** 0.5 * chance.standard_normal(ITEMS)
        low, high = 0.0, 1.0
        for _ in range(STEPS):
            middle = (low + high) / 2
            short = given_by(_mixed(gold, noise, middle))[first] < numbers[first]
            low, high = (middle, high) if short else (low, middle)
        predicted = _mixed(gold, noise, high)
        arrays[f"{array}.{task.name}" if array else task.name] = predicted
        best |= given_by(predicted)
    if best:
        arrays[f"gold.{task.name}"] = gold
    if best and parts > 1:
        arrays[f"parts.{task.name}"] = sizes
    return best


def _numbers(task: Task, answers: Answers, stored: Mapping[str, Any]) -> dict[str, float]:
    """Return those of the stored numbers that follow from the answers, in the stored order."""
    scored = KINDS[task.kind].numbers(task, answers, None)
    return {name: value for name in stored if stored[name] is not None and (value := scored.get(name)) is not None}


def _mixed(gold: np.ndarray, noise: np.ndarray, share: float) -> np.ndarray:
    return np.asarray(share * (gold - 2.5) / 1.5 + (1 - share) * noise)
