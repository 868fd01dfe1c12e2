"""A task's examples with their embeddings, and the task's scores: what its kind finds, by its kind's own numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from trainables.evaluation_config import Parts
from trainables.senteval.classifier import Rows
from trainables.senteval.correlation import cosine
from trainables.senteval.examples import Split, TaskData
from trainables.senteval.features import Pairs, Singles
from trainables.senteval.kinds import KINDS
from trainables.senteval.kinds.contract import Numbers, Scores
from trainables.senteval.protocol import Protocol
from trainables.senteval.tasks import Task

Lookup = Callable[[list[str]], Tensor]
"""Sentences to their row numbers in the embeddings, (n,) int64."""


@dataclass(frozen=True)
class Embedded:
    """A task's examples with the embeddings of the union of all sentences."""

    task: Task
    data: TaskData
    embeddings: Tensor  # (unique sentences, dim) float32
    lookup: Lookup
    apart: Lookup | None = None
    """The same of documents that queries are held against, where these may have embeddings of their own."""

    def documents(self, texts: list[str]) -> Tensor:
        """(texts,) The row numbers of documents."""
        return (self.apart or self.lookup)(texts)

    def rows(self, *names: str) -> Rows:
        """Feature rows of the named splits, one after another."""
        splits = [self.data.splits[name] for name in names]
        left = torch.cat([self.lookup(split.left) for split in splits])
        if splits[0].right is None:
            return Singles(self.embeddings, left)
        right = torch.cat([self.lookup(split.right or []) for split in splits])
        return Pairs(self.embeddings, left, right, both=self.task.both_embeddings)

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


def score_task(given: Embedded, protocol: Protocol, seed: int, parts: Parts = "all") -> tuple[Numbers, Scores]:
    """The numbers that the task's entry names, and `examples`; and what its kind found. Of the development parts what
    was found there, and no number of a test part even where the kind had to score it.

    The kind scores it under the protocol, but for what the task's own entry says of fits.
    """
    task, kind = given.task, KINDS[given.task.kind]
    fit = replace(
        protocol.fit,
        epoch_size=task.epoch_size or protocol.fit.epoch_size,
        max_epochs=task.max_epochs or protocol.fit.max_epochs,
    )
    without_test = parts == "development" or ("test" in kind.splits and "test" not in task.splits)
    score = kind.score_without_test if without_test else kind.score
    found = score(given, replace(protocol, fit=fit, decays=task.decays or protocol.decays), seed)
    if parts == "development":
        found = replace(found, answers=tuple(answers for answers in found.answers if answers.split == "dev"))
    values: dict[str, float | None] = dict(found.fitted)
    for answers in found.answers:
        values.update(kind.numbers(task, answers, protocol))
    names = [name for name in task.numbers if parts == "all" or (name.startswith("dev_") and name in values)]
    return {**{name: values[name] for name in names}, "examples": found.examples}, found
