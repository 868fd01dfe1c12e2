"""A task's examples with their embeddings: what its kind scores. Loads no torch, since kinds name it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trainables.lazy_torch import torch
from trainables.senteval.correlation import cosine
from trainables.senteval.examples import Split, TaskData
from trainables.senteval.features import FeatureRows, PairRows, Singles
from trainables.senteval.task_fields import TaskFields

if TYPE_CHECKING:
    from torch import Tensor

Lookup = Callable[[list[str]], "Tensor"]
"""Sentences to their row numbers in the embeddings, (n,) int64."""


@dataclass(frozen=True)
class Embedded:
    """A task's examples with the embeddings of the union of all sentences."""

    task: TaskFields
    data: TaskData
    embeddings: Tensor  # (unique sentences, dim) float32
    lookup: Lookup
    apart: Lookup | None = None
    """The same of documents that queries are held against, where these may have embeddings of their own."""

    def documents(self, texts: list[str]) -> Tensor:
        """(texts,) The row numbers of documents."""
        return (self.apart or self.lookup)(texts)

    def rows(self, *names: str) -> FeatureRows:
        """Feature rows of the named splits, one after another."""
        splits = [self.data.splits[name] for name in names]
        left = torch.cat([self.lookup(split.left) for split in splits])
        if splits[0].right is None:
            return Singles(self.embeddings, left)
        right = torch.cat([self.lookup(split.right or []) for split in splits])
        return PairRows(self.embeddings, left, right, both=self.task.both_embeddings)

    def all_rows(self, name: str) -> Tensor:  # (examples, width)
        """The feature rows of a split."""
        return self.rows(name).take(torch.arange(len(self.data.splits[name])))

    def features(self, *names: str) -> Tensor:  # (examples, dim)
        """The feature rows of the named splits, without the columns that SentEval's classifiers need beside them."""
        rows = self.rows(*names)
        return rows.take(torch.arange(sum(len(self.data.splits[name]) for name in names)))[:, : rows.dim]

    def labels(self, *names: str) -> np.ndarray:
        """Labels of the named splits, one after another."""
        return np.concatenate([self.data.splits[name].labels for name in names])

    def cosine(self, split: Split) -> np.ndarray:
        """(pairs,): how similar the sentences of each pair are."""
        return cosine(self.embeddings, self.lookup(split.left), self.lookup(split.right or []))
