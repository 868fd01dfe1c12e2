"""What tests of whole trials share: a small recipe, what of results is compared, and a reporter that leaves."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trainables.recipe import Recipe
from trainables.trial import Reporter, TrialResult

PAIRS = Recipe().preferring(
    {
        "encoder.name": "scenes-small",
        "corpus.nli": "scenes",
        "corpus.limit": 96,
        "corpus.layout": "pairs",
        "objective.name": "ntxent",
        "objective.positives": None,
        "objective.negatives": None,
        "optimisation.batch_size": 16,
    }
)

SECONDS = (
    "seconds",
    "train_seconds",
    "evaluation_seconds",
    "evaluating_seconds",
    "peak_memory_mb",
    "resumed_seconds",
    "encode_ms",
)


def without_seconds(value: Any) -> Any:
    """All of a result that must be equal: arrays as their bytes."""
    if isinstance(value, TrialResult):
        value = vars(value)
    if isinstance(value, Mapping):
        return {name: without_seconds(content) for name, content in value.items() if name not in SECONDS}
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return "\n".join(line for line in value.splitlines() if "seconds" not in line) if isinstance(value, str) else value


class Leaving(Reporter):
    """Wants a checkpoint after a step, counted from the first of this process, keeps it, and ends the training there; a
    single trial takes it after the next step. None: it is only a `Reporter`."""

    def __init__(self, after: int | None = None, keep: Path | None = None) -> None:
        self.after, self.keep = after, keep
        self.calls = 0

    def wants_checkpoint(self) -> bool:
        self.calls += 1
        return self.calls == self.after

    def checkpoint(self, folder: Path) -> bool:
        assert self.keep is not None
        shutil.copytree(folder, self.keep)
        return False
