"""One step's sentences, as every layout of a corpus gives them to the training loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True)
class Batch:
    """Labelled pairs of one step. Everything indexes into `sentences`.

    A unique sentence stands once in `sentences`, unless a layout wants it encoded twice, under two dropouts.
    The rows of one group belong to one anchor, their common premise.
    """

    sentences: list[str]
    premise: np.ndarray
    """(pairs,) int64, index into `sentences`."""
    hypothesis: np.ndarray
    """(pairs,) int64, index into `sentences`."""
    label: np.ndarray
    """(pairs,) int8: 0 entailment, 1 neutral, 2 contradiction."""
    group: np.ndarray
    """(pairs,) int64: equal exactly where rows belong to one anchor."""
    tokens: list[list[int]] | None = None
    """Of layouts that draw tokens, not sentences: the items themselves; `sentences` is then empty."""


class Sampler(Protocol):
    """The batches of a whole training, made on demand and the same for every worker."""

    steps_per_epoch: int

    def batch(self, step: int) -> Batch:
        """The batch of a step, counted from 0 over all epochs; any step may be asked for, in any order."""
