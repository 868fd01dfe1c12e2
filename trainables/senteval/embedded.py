"""A task's examples with their embeddings, and the feature rows of linear classifiers: one embedding, or products and
differences of two, with a one for the bias. Loads no torch, because kinds import it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trainables.lazy_torch import torch
from trainables.senteval.correlation import cosine
from trainables.senteval.examples import Split, TaskData
from trainables.senteval.task_fields import TaskFields

if TYPE_CHECKING:
    from torch import Tensor

Lookup = Callable[[list[str]], "Tensor"]
"""Maps sentences to their row numbers in the embeddings, (n,) int64."""


class Singles:
    """Feature rows of single texts: one embedding each."""

    def __init__(self, embeddings: Tensor, index: Tensor) -> None:
        self.dim = embeddings.shape[1]
        self.rows = _padded(embeddings[index])
        self.device = embeddings.device

    def take(self, index: Tensor) -> Tensor:  # (n,) -> (n, width)
        return self.rows.index_select(0, index)


class PairRows:
    """Feature rows of pairs: (|u - v|, u * v), or with `both` (u, v, u * v, |u - v|)."""

    def __init__(self, embeddings: Tensor, left: Tensor, right: Tensor, both: bool = False) -> None:
        self.embeddings, self.both, self.device = embeddings, both, embeddings.device
        self.left, self.right = left.to(embeddings.device), right.to(embeddings.device)
        self.dim = embeddings.shape[1] * (4 if both else 2)
        # SNLI's 550,000 rows are four embeddings wide: built for each block of rows, never as a whole.
        self.rows = None if both else self._build(torch.arange(len(left), device=embeddings.device))

    def take(self, index: Tensor) -> Tensor:  # (n,) -> (n, width)
        return self._build(index) if self.rows is None else self.rows.index_select(0, index)

    def _build(self, index: Tensor) -> Tensor:
        u, v = self.embeddings[self.left[index]], self.embeddings[self.right[index]]
        parts = [u, v, u * v, (u - v).abs()] if self.both else [(u - v).abs(), u * v]
        return _padded(torch.cat(parts, dim=1))


FeatureRows = Singles | PairRows
"""Feature rows that can be gathered by index; the last columns are a one for the bias and zero padding."""


def _padded(rows: Tensor) -> Tensor:
    """Append a column of ones and then zeros up to a multiple of 16, at which matrix products are fastest."""
    n, dim = rows.shape
    padded = rows.new_zeros(n, (dim // 16 + 1) * 16)
    padded[:, :dim] = rows
    padded[:, dim] = 1.0
    return padded


@dataclass(frozen=True)
class Embedded:
    """A task's examples with the embeddings of all tasks' unique sentences."""

    task: TaskFields
    data: TaskData
    embeddings: Tensor  # (unique sentences, dim) float32
    lookup: Lookup
    document_lookup: Lookup | None = None
    """Maps documents of searches to their row numbers; None: documents have the same embeddings as sentences."""

    def documents(self, texts: list[str]) -> Tensor:
        """Return the row numbers of documents, (texts,)."""
        return (self.document_lookup or self.lookup)(texts)

    def rows(self, *names: str) -> FeatureRows:
        """Return the feature rows of the named splits, one after another."""
        splits = [self.data.splits[name] for name in names]
        left = torch.cat([self.lookup(split.left) for split in splits])
        if splits[0].right is None:
            return Singles(self.embeddings, left)
        right = torch.cat([self.lookup(split.right or []) for split in splits])
        return PairRows(self.embeddings, left, right, both=self.task.both_embeddings)

    def all_rows(self, name: str) -> Tensor:  # (examples, width)
        """Return all feature rows of a split, in the order of its examples."""
        return self.rows(name).take(torch.arange(len(self.data.splits[name])))

    def features(self, *names: str) -> Tensor:  # (examples, dim)
        """Return the feature rows of the named splits, without the columns for the bias and the padding."""
        rows = self.rows(*names)
        return rows.take(torch.arange(sum(len(self.data.splits[name]) for name in names)))[:, : rows.dim]

    def labels(self, *names: str) -> np.ndarray:
        """Return the labels of the named splits, one after another."""
        return np.concatenate([self.data.splits[name].labels for name in names])

    def cosine(self, split: Split) -> np.ndarray:
        """Return the cosine of each pair, (pairs,)."""
        return cosine(self.embeddings, self.lookup(split.left), self.lookup(split.right or []))
