"""Predictions made up for tests: of a few items a task, and scores that are exactly what these predictions give."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.stats import rankdata

from trainables.senteval.scorers import SCORERS
from trainables.senteval.tasks import TASKS, Task

ITEMS = 60
"""Of a task. Classes, folds and sub-corpora of SentEval's tasks are then of equal sizes."""
SHARED = 0.8
"""How much of a prediction's error is the item's own, the same under every recipe."""
STEPS = 10
"""Of the search for predictions that give a score."""
Arrays = dict[str, np.ndarray]

VERSIONS = {"trainables": "aaaa1111", "torch": "2.13.0", "transformers": "5.23.0"}
"""What made-up trials ran."""
DATA = {
    "corpus": {"source": "scenes", "pairs": 12000, "fingerprint": "abc123"},
    "senteval": {"source": "scenes", "fingerprint": "def456"},
    "encoder": {"name": "scenes-small", "fingerprint": "789abc", "fresh": []},
}
"""What every trial read, as its record says it."""


def geometry(recipe_hash: str, seed: int) -> dict[str, Any]:
    """How a trial's embeddings might lie: alike under the seeds of a recipe."""
    recipe = np.random.default_rng(zlib.crc32(recipe_hash.encode()))
    of_recipe = recipe.standard_normal(3)
    of_seed = np.random.default_rng([zlib.crc32(recipe_hash.encode()), seed, 1]).standard_normal(3)
    alignment, uniformity, anisotropy = of_recipe + 0.1 * of_seed
    return {
        "alignment": float(0.4 + 0.05 * alignment),
        "uniformity": float(-2.5 + 0.3 * uniformity),
        "anisotropy": float(0.2 + 0.05 * anisotropy),
        "sentences": "STSBenchmark",
    }


def with_predictions(
    scores: Mapping[str, Mapping[str, Any]], recipe_hash: str, seed: int
) -> tuple[dict[str, dict[str, Any]], Arrays]:
    """Scores close to these, and the arrays that a trial keeps, from which the scores follow without any rest.

    Arrays as in a file of predictions: `TASK`, `gold.TASK`, `parts.TASK`, `regressed.TASK`, `items.TASK`. Tasks whose
    test scores are missing, and retrieval, have none.
    """
    chance = np.random.default_rng([zlib.crc32(recipe_hash.encode()), seed])
    new: dict[str, dict[str, Any]] = {}
    arrays: Arrays = {}
    for name, numbers in scores.items():
        new[name] = dict(numbers)
        task = TASKS[name]
        target = SCORERS[task.kind].target
        if target == "classes" and numbers.get("test_accuracy") is not None:
            new[name] |= _classes(task, numbers, chance, arrays)
        elif target == "scores":
            new[name] |= _pairs(task, numbers, chance, arrays)
        if name in arrays:
            new[name]["examples"] = ITEMS
            arrays[f"items.{name}"] = np.array(f"made up {name}")
    return new, arrays


def _of_task(task: Task) -> np.random.Generator:
    """Chance that is the same for every trial."""
    return np.random.default_rng(zlib.crc32(task.name.encode()))


def _classes(task: Task, numbers: Mapping[str, Any], chance: np.random.Generator, arrays: Arrays) -> dict[str, float]:
    """The easiest items are right, as many as the accuracy asks for; the others get the next class."""
    fixed, classes = _of_task(task), max(2, len(task.labels))
    gold = fixed.permutation(np.arange(ITEMS) % classes)
    ease = SHARED * fixed.standard_normal(ITEMS) + (1 - SHARED**2) ** 0.5 * chance.standard_normal(ITEMS)
    right = np.argsort(-ease)[: round(numbers["test_accuracy"] * ITEMS / 100)]
    predicted = (gold + 1) % classes
    predicted[right] = gold[right]
    arrays[task.name], arrays[f"gold.{task.name}"] = predicted, gold
    found = {"test_accuracy": 100 * float((predicted == gold).mean())}
    if "test_f1" in numbers:
        true = int(((predicted == 1) & (gold == 1)).sum())
        found["test_f1"] = 100 * 2 * true / max(1, int((predicted == 1).sum() + (gold == 1).sum()))
    return found


def _pairs(task: Task, numbers: Mapping[str, Any], chance: np.random.Generator, arrays: Arrays) -> dict[str, float]:
    """Cosines, and what a regressor says, that agree with the gold scores as much as the numbers ask for."""
    parts = len(task.files) // 2 if task.kind == "similarity" else 1
    fixed = _of_task(task)
    gold = fixed.uniform(0, 5, ITEMS).round(2)
    own = fixed.standard_normal(ITEMS)
    found: dict[str, float] = {}
    for array, ending in ((task.name, ""), (f"regressed.{task.name}", "_regressor")):
        names = [
            name
            for name, value in numbers.items()
            if value is not None
            and name.startswith(("spearman_", "pearson_", "test_"))
            and name.endswith("_regressor") == bool(ending)
        ]
        if not names:
            continue
        noise = SHARED * own + (1 - SHARED**2) ** 0.5 * chance.standard_normal(ITEMS)
        measure = _MEASURES[names[0].removeprefix("test_")]
        low, high = 0.0, 1.0
        for _ in range(STEPS):
            middle = (low + high) / 2
            short = measure(_mixed(gold, noise, middle), gold, parts) < numbers[names[0]]
            low, high = (middle, high) if short else (low, middle)
        arrays[array] = _mixed(gold, noise, high)
        found |= {name: _MEASURES[name.removeprefix("test_")](arrays[array], gold, parts) for name in names}
    if found:
        arrays[f"gold.{task.name}"] = gold
    if found and task.kind == "similarity":
        arrays[f"parts.{task.name}"] = np.full(parts, ITEMS // parts)
    return found


def _mixed(gold: np.ndarray, noise: np.ndarray, share: float) -> np.ndarray:
    return np.asarray(share * (gold - 2.5) / 1.5 + (1 - share) * noise)


def _pearson(a: np.ndarray, b: np.ndarray) -> float:
    return float(100 * np.corrcoef(a, b)[0, 1])


def _spearman(a: np.ndarray, b: np.ndarray) -> float:
    return _pearson(rankdata(a), rankdata(b))


Correlation = Callable[[np.ndarray, np.ndarray], float]


def _over_parts(correlation: Correlation) -> Callable[[np.ndarray, np.ndarray, int], float]:
    """The mean over sub-corpora of one size, with which the mean weighted by size is the same."""

    def measure(predicted: np.ndarray, gold: np.ndarray, parts: int) -> float:
        sides = zip(np.split(predicted, parts), np.split(gold, parts), strict=True)
        return float(np.mean([correlation(a, b) for a, b in sides]))

    return measure


def _whole(correlation: Correlation) -> Callable[[np.ndarray, np.ndarray, int], float]:
    return lambda predicted, gold, parts: correlation(predicted, gold)


_MEASURES = {
    **{f"spearman_{way}": _over_parts(_spearman) for way in ("mean", "wmean")},
    **{f"pearson_{way}": _over_parts(_pearson) for way in ("mean", "wmean")},
    "spearman_all": _whole(_spearman),
    "pearson_all": _whole(_pearson),
    "spearman_cosine": _whole(_spearman),
    "spearman_regressor": _whole(_spearman),
    "pearson_regressor": _whole(_pearson),
}
