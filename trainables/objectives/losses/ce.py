"""Cross-entropy over the labelled pairs: the SBERT baseline of Liao 2021."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainables.objectives.liao_pairs import RELEASED_OUTSIDE_LOSS
from trainables.objectives.objective import EmbeddedBatch, Loss, Objective

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class CrossEntropy(Objective):
    """Liao 2021, eq. 1: the mean over the batch's pairs of the softmax cross-entropy."""

    name = "ce"
    meaning = "cross-entropy over labelled pairs, as SBERT has it (Liao 2021)"
    layouts = ("rows", "groups")
    contrasts = False
    released = RELEASED_OUTSIDE_LOSS

    def module(self, dim: int) -> nn.Module:
        from trainables.objectives.pair_classifier import PairClassifier

        return PairClassifier(dim)

    def loss(self, batch: EmbeddedBatch, module: Any = None) -> Loss:
        return classification_loss(batch, module)


def classification_loss(batch: EmbeddedBatch, classifier: Any) -> Loss:
    """Return this worker's part of the mean cross-entropy of a pair classifier."""
    pairs = len(batch.label)
    mine = batch.share(pairs)
    u, v = batch.embeddings[batch.premise[mine]], batch.embeddings[batch.hypothesis[mine]]
    return Loss(classifier(u, v, batch.label[mine]) / pairs)
