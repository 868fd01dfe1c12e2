"""Cross-entropy over the labelled pairs: the SBERT baseline of Liao 2021."""

from __future__ import annotations

from trainables.objectives.objective import EmbeddedBatch, Loss, Objective
from trainables.objectives.pair_classifier import PairClassifier
from trainables.recipe import ObjectiveConfig


class CrossEntropy(Objective):
    """Liao 2021, eq. 1: the mean over the batch's pairs of the softmax cross-entropy."""

    def __init__(self, config: ObjectiveConfig, dim: int) -> None:
        super().__init__(config, dim)
        self.classifier = PairClassifier(dim)

    def forward(self, batch: EmbeddedBatch) -> Loss:
        pairs = len(batch.label)
        mine = batch.share(pairs)
        u, v = batch.embeddings[batch.premise[mine]], batch.embeddings[batch.hypothesis[mine]]
        return Loss(self.classifier(u, v, batch.label[mine]) / pairs)
