"""Supervised contrastive learning mixed with cross-entropy: the method of Liao 2021."""

from __future__ import annotations

from trainables.objectives.batch import EmbeddedBatch, Loss, Objective
from trainables.objectives.ce import CrossEntropy
from trainables.objectives.contrast import choose_contrast
from trainables.objectives.kernel import contrastive
from trainables.recipe import ObjectiveConfig


class SCL(Objective):
    """Liao 2021, eq. 3: (1 - lambda) L_CE + lambda L_SCL.

    L_SCL (eq. 2) is the mean over the anchors, here the premises that have a positive in the batch, of

        - 1/N+ sum over positives j of log( exp(f_i . f_j / tau) / sum over k of exp(f_i . f_k / tau) ),

    k running over the positives and the negatives,

    with the plain dot product of (projected) embeddings. `temperature` is tau; it divides the scores.
    A batch without an anchor has no contrastive term.
    """

    def __init__(self, config: ObjectiveConfig, dim: int) -> None:
        super().__init__(config, dim)
        # lambda 1 never asks the classifier, and idle parameters would only weigh on the exchange of gradients.
        self.cross_entropy = CrossEntropy(config, dim) if config.weight < 1 else None

    def forward(self, batch: EmbeddedBatch) -> Loss:
        contrast = choose_contrast(batch, self.config)
        mine = batch.share(len(contrast.anchors))
        device = batch.projected.device
        anchors = batch.projected[contrast.anchors[mine].to(device)]  # (anchors, dim)
        candidates = batch.projected[batch.hypothesis]  # (pairs, dim)
        scores = anchors @ candidates.T / self.config.temperature  # (anchors, pairs)
        positives, negatives = contrast.positives[mine].to(device), contrast.negatives[mine].to(device)
        losses = contrastive(scores, positives, positives | negatives)  # (anchors,)
        value = self.config.weight * losses.sum() / max(len(contrast.anchors), 1)
        if self.cross_entropy is not None:
            value = value + (1 - self.config.weight) * self.cross_entropy(batch).value
        return Loss(value, contrast.counts)
