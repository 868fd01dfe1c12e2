"""The Augment baselines of Liao 2021: cross-entropy over the pairs that SCL would contrast."""

from __future__ import annotations

import torch
from torch import Tensor

from trainables.labels import CONTRADICTION, ENTAILMENT
from trainables.objectives.kernel import in_parts
from trainables.objectives.liao_pairs import choose_contrast
from trainables.objectives.objective import EmbeddedBatch, Loss, Objective, counts_of
from trainables.objectives.pair_classifier import PairClassifier
from trainables.recipe import ObjectiveConfig
from trainables.to_device import to_device


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
        count = len(rows)
        mine = batch.share(count)
        rows, pairs = rows[mine], pairs[mine]
        device = batch.embeddings.device
        anchors, chosen = to_device(contrast.anchors[rows], device), to_device(pairs, device)
        own = batch.premise[chosen] == anchors
        label = torch.where(own, batch.label[chosen], CONTRADICTION)
        label = torch.where(to_device(contrast.positives[rows, pairs], device), ENTAILMENT, label)

        def summed(part: slice) -> Tensor:  # (1,)
            u, v = batch.embeddings[anchors[part]], batch.embeddings[batch.hypothesis[chosen[part]]]
            return self.classifier(u, v, label[part]).unsqueeze(0)

        losses = in_parts(summed, len(rows), 3 * batch.embeddings.shape[1])
        return Loss(losses.sum() / max(count, 1), counts_of(contrast.positives, contrast.negatives))
