"""Makes up predictions for tests: a few items for each task, with scores that follow exactly from the predictions."""

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
"""Items of each task. With this number the classes, folds and sub-corpora of SentEval's tasks are of equal sizes."""
SHARED = 0.8
"""Share of a prediction's error that depends on the item alone and is the same under every recipe."""
STEPS = 10
"""Steps of the search for predictions that have a given score."""
Arrays = dict[str, np.ndarray]

VERSIONS = {"trainables": "aaaa1111", "torch": "2.13.0", "transformers": "5.23.0"}
"""Versions of code and packages in the records of made-up trials."""
DATA = {
    "corpus": {"source": "scenes", "pairs": 12000, "fingerprint": "abc123"},
    "senteval": {"source": "scenes", "fingerprint": "def456"},
    "encoder": {"name": "scenes-small", "fingerprint": "789abc", "fresh": []},
}
"""Description of the data in the record of every made-up trial."""


def with_predictions(
    scores: Mapping[str, Mapping[str, Any]], recipe_hash: str, seed: int
) -> tuple[dict[str, dict[str, Any]], Arrays]:
    """Return scores close to the given ones, and arrays of predictions from which the returned scores follow exactly.

    Arrays are named as in a file of predictions: `TASK`, `gold.TASK`, `parts.TASK`, `regressed.TASK`, `items.TASK`.
    Retrieval tasks and tasks without test scores have no arrays. Results are cached, as they are slow to make.
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
    """Return a random generator that depends on the task alone, so that it is the same for every trial."""
    return np.random.default_rng(zlib.crc32(task.name.encode()))


def _classes(task: Task, numbers: Mapping[str, Any], chance: np.random.Generator, arrays: Arrays) -> dict[str, float]:
    """Add predicted classes to `arrays` and return their scores. As many of the easiest items are right as the accuracy
    in `numbers` needs; the other items get the next class."""
    fixed, classes = _of_task(task), max(2, len(task.labels))
    gold = fixed.permutation(np.arange(ITEMS) % classes)
    ease = SHARED * fixed.standard_normal(ITEMS) + (1 - SHARED**2) ** 0.5 * chance.standard_normal(ITEMS)
    right = np.argsort(-ease)[: round(numbers["test_accuracy"] * ITEMS / 100)]
    predicted = (gold + 1) % classes
    predicted[right] = gold[right]
    arrays[task.name], arrays[f"gold.{task.name}"] = predicted, gold
    return _numbers(task, Answers(predicted, gold), numbers)


def _pairs(task: Task, numbers: Mapping[str, Any], chance: np.random.Generator, arrays: Arrays) -> dict[str, float]:
    """Add cosines and a regressor's outputs to `arrays`, and return their scores, which come close to `numbers`."""
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
    """Compute again those stored numbers that follow from the answers; return them in the stored order."""
    scored = KINDS[task.kind].numbers(task, answers, None)
    return {name: value for name in stored if stored[name] is not None and (value := scored.get(name)) is not None}


def _mixed(gold: np.ndarray, noise: np.ndarray, share: float) -> np.ndarray:
    return np.asarray(share * (gold - 2.5) / 1.5 + (1 - share) * noise)
