"""A trial's scores, and which numbers each SentEval task gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainables.senteval.tasks import TASKS

Scores = Mapping[str, Mapping[str, Any]]
"""By task, its numbers, as a record holds them."""

_ACCURACIES = ("dev_accuracy", "test_accuracy")
_OF_KIND = {
    "nested_cv": _ACCURACIES,
    "kfold": _ACCURACIES,
    "split": _ACCURACIES,
    "similarity": tuple(f"{name}_{way}" for name in ("spearman", "pearson") for way in ("all", "mean", "wmean")),
    "relatedness": (
        "dev_spearman_cosine",
        "test_spearman_cosine",
        "dev_pearson_regressor",
        "test_spearman_regressor",
        "test_pearson_regressor",
    ),
    "retrieval": (
        "dev_recall",
        "test_recall",
        *(f"test_{way}_{number}" for way in ("t2i", "i2t") for number in ("r1", "r5", "r10", "medr")),
    ),
}


def numbers_of(task: str) -> tuple[str, ...]:
    """The names of a known task's numbers: what a column or an average may ask of it."""
    row = TASKS[task]
    return (*_OF_KIND[row.kind], *(("test_f1",) if row.layout == "mrpc" else ()))
