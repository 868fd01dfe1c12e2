"""The Augment baselines of Liao 2021: cross-entropy over the pairs that SCL would contrast."""

from __future__ import annotations

import torch

from trainables.labels import CONTRADICTION, ENTAILMENT
from trainables.objectives.liao_pairs import choose_contrast
from trainables.objectives.objective import EmbeddedBatch, Loss, Objective, counts_of
from trainables.objectives.pair_classifier import PairClassifier
from trainables.recipe import ObjectiveConfig
from trainables.transfer import onto


class AugmentedCrossEntropy(Objective):
    """Mean cross-entropy over (anchor, positive) and (anchor, negative) pairs, as many as N+ and N- allow.

    A positive is an entailment, and a negative that belongs to the anchor keeps its label. The paper does not say what
    label a hypothesis of another premise gets; here it is contradiction, as SNLI labels unrelated captions.
    """

    def __init__(self, config: ObjectiveConfig, dim: int) -> None:
        super().__init__(config, dim)
        self.classifier = PairClassifier(dim)

    def forward(self, batch: EmbeddedBatch) -> Loss:
        contrast = choose_contrast(batch, self.config)
        rows, pairs = torch.nonzero(contrast.positives | contrast.negatives, as_tuple=True)  # (augmented,) twice
        mine = batch.share(len(rows))
        device = batch.embeddings.device
        anchors, chosen = onto(contrast.anchors[rows[mine]], device), onto(pairs[mine], device)
        own = batch.premise[chosen] == anchors
        label = torch.where(own, batch.label[chosen], CONTRADICTION)
        label = torch.where(onto(contrast.positives[rows[mine], pairs[mine]], device), ENTAILMENT, label)
        u, v = batch.embeddings[anchors], batch.embeddings[batch.hypothesis[chosen]]
        return Loss(self.classifier(u, v, label) / max(len(rows), 1), counts_of(contrast.positives, contrast.negatives))
