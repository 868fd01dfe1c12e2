"""One training step's sentences and labelled pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

Array = TypeVar("Array")
Prompts = tuple[str | None, str | None]
"""The texts before a query and before a document; None: the encoder's own."""


@dataclass(frozen=True, kw_only=True)
class BatchPairs(Generic[Array]):
    """The labelled pairs of a batch, as indices into its items.

    A group is an anchor, its common premise: rows labelled entailment are its positives, contradictions its negatives.
    """

    premise: Array  # (pairs,) int64, index into the items
    hypothesis: Array  # (pairs,) int64, index into the items
    label: Array  # (pairs,) see trainables.labels
    group: Array  # (pairs,) int64: equal exactly where rows belong to one anchor
    score: Array | None = None
    """(pairs,) float32: how alike the two should be, of layouts with scores; NaN: not known."""


@dataclass(frozen=True, kw_only=True)
class Batch(BatchPairs[np.ndarray]):
    """One step. A sentence is in `sentences` once, or twice where it is encoded under two dropouts."""

    sentences: list[str]
    tokens: list[list[int]] | None = None
    """Items of layouts that draw tokens; `sentences` is then empty."""
    prompts: Sequence[Prompts] | None = None
    """(items,) the text before each sentence; None: the encoder's own."""


class Sampler(Protocol):
    """The batches of a whole training, made on demand and the same for every worker."""

    @property
    def steps_per_epoch(self) -> int:
        """Batches of one pass over the corpus."""

    def batch(self, step: int) -> Batch:
        """The batch of a step, counted from 0 over all epochs; steps come in any order."""
