"""One training step's sentences and labelled pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

Array = TypeVar("Array")
Prompts = tuple[str | None, str | None]
"""The texts put before a query and before a document; None: the encoder's own prompt."""


@dataclass(frozen=True, kw_only=True)
class BatchPairs(Generic[Array]):
    """The labelled pairs of a batch, as indices into its items.

    A group is all pairs with the same anchor as premise. Their hypotheses are positives of the anchor if the label is
    entailment, and hard negatives if it is contradiction.
    """

    premise: Array  # (pairs,) int64, index into the items
    hypothesis: Array  # (pairs,) int64, index into the items
    label: Array  # (pairs,) see trainables.labels
    group: Array  # (pairs,) int64: equal exactly where rows belong to one anchor
    score: Array | None = None
    """(pairs,) float32: gold or teacher's similarity of the two texts. NaN: unknown; None: the layout has no scores."""


@dataclass(frozen=True, kw_only=True)
class Batch(BatchPairs[np.ndarray]):
    """The data of one step. `sentences` has a sentence once, or twice if it is encoded under two dropout masks."""

    sentences: list[str]
    tokens: list[list[int]] | None = None
    """Token ids of each item, in layouts that draw tokens; `sentences` is then empty."""
    prompts: Sequence[Prompts] | None = None
    """(items,) the prompts of each sentence; None: the encoder's own."""


class Sampler(Protocol):
    """The batches of a whole training, made on demand and the same for every worker."""

    @property
    def steps_per_epoch(self) -> int:
        """Number of batches in one pass over the corpus."""

    def batch(self, step: int) -> Batch:
        """Return the batch of a step, counted from 0 over all epochs. Steps may come in any order."""
