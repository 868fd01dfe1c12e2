"""One step's sentences, as every layout of a corpus gives them to the training loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

Array = TypeVar("Array")
Prompts = tuple[str | None, str | None]
"""What is put before a sentence as a query, and as a document; None: what the encoder puts there."""


@dataclass(frozen=True, kw_only=True)
class BatchPairs(Generic[Array]):
    """The labelled pairs of a batch, row by row. They point at the batch's items: sentences, or further views of one.

    The rows of one group say what belongs to its anchor, their common premise: a row labelled entailment is a
    positive, one labelled contradiction a hard negative. In the layout `rows` a group is a premise of the batch.
    """

    premise: Array  # (pairs,) int64, index into the items
    hypothesis: Array  # (pairs,) int64, index into the items
    label: Array  # (pairs,) see trainables.labels
    group: Array  # (pairs,) int64: equal exactly where rows belong to one anchor
    score: Array | None = None
    """(pairs,) float32: how alike the two are meant to be, of layouts that say so; NaN where nobody knows."""


@dataclass(frozen=True, kw_only=True)
class Batch(BatchPairs[np.ndarray]):
    """One step, as a sampler gives it.

    A unique sentence stands once in `sentences`, unless a layout wants it encoded twice, under two dropouts.
    """

    sentences: list[str]
    tokens: list[list[int]] | None = None
    """Of layouts that draw tokens, not sentences: the items themselves; `sentences` is then empty."""
    prompts: Sequence[Prompts] | None = None
    """(items,) of layouts that say what is put before each sentence; None: what the encoder says."""


class Sampler(Protocol):
    """The batches of a whole training, made on demand and the same for every worker."""

    @property
    def steps_per_epoch(self) -> int:
        """Batches of one pass over the corpus."""

    def batch(self, step: int) -> Batch:
        """The batch of a step, counted from 0 over all epochs; any step may be asked for, in any order."""
