"""Supervised contrastive learning mixed with cross-entropy: the method of Liao 2021."""

from __future__ import annotations

import dataclasses

import torch

from trainables.objectives.ce import CrossEntropy
from trainables.objectives.contrastive import Comparison, Contrastive
from trainables.objectives.groups import Groups
from trainables.objectives.liao_pairs import choose_contrast
from trainables.objectives.objective import EmbeddedBatch, Loss
from trainables.recipe import ObjectiveConfig
from trainables.to_device import to_device


class SCL(Contrastive):
    """Liao 2021, eq. 3: (1 - lambda) L_CE + lambda L_SCL.

    L_SCL (eq. 2) is the mean over the anchors, here the premises that have a positive in the batch, of

        - 1/N+ sum over positives j of log( exp(f_i . f_j / tau) / sum over k of exp(f_i . f_k / tau) ),

    k running over the positives and the negatives,

    with the plain dot product of (projected) embeddings. `temperature` is tau; it divides the scores.
    A batch without an anchor has no contrastive term.
    """

    cosine = False

    def __init__(self, config: ObjectiveConfig, dim: int) -> None:
        super().__init__(config, dim)
        # With lambda 1 the classifier is not used, and its parameters would only slow the exchange of gradients.
        self.cross_entropy = CrossEntropy(config, dim) if config.weight < 1 else None

    def compare(self, batch: EmbeddedBatch) -> Comparison:
        contrast = choose_contrast(batch, self.config)
        device = batch.projected.device
        anchors, positives, negatives = (
            to_device(t, device) for t in (contrast.anchors, contrast.positives, contrast.negatives)
        )
        premises = Groups.of_batch(dataclasses.replace(batch, group=batch.premise))
        return Comparison(
            batch.projected[anchors],
            batch.projected[batch.hypothesis],
            batch.text[batch.hypothesis],
            positives,
            positives | negatives,
            premises,
            torch.searchsorted(premises.anchor, anchors),
        )

    def forward(self, batch: EmbeddedBatch) -> Loss:
        contrastive = super().forward(batch)
        value = self.config.weight * contrastive.value
        if self.cross_entropy is not None:
            value = value + (1 - self.config.weight) * self.cross_entropy(batch).value
        return dataclasses.replace(contrastive, value=value)
