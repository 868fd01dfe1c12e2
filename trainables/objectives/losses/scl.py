"""Supervised contrastive learning combined with cross-entropy: the method of Liao 2021."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainables.keys import Range, between, key
from trainables.objectives.comparison import ContrastSet
from trainables.objectives.contrastive import Contrastive
from trainables.objectives.liao_pairs import RELEASED, LiaoPairs, choose_contrast
from trainables.objectives.losses.ce import classification_loss
from trainables.objectives.objective import EmbeddedBatch, Loss
from trainables.to_device import to_device

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class SCL(LiaoPairs, Contrastive):
    """Liao 2021, eq. 3: (1 - lambda) L_CE + lambda L_SCL.

    L_SCL (eq. 2) is the mean over the anchors, here the premises that have a positive in the batch, of

        - 1/N+ sum over positives j of log( exp(f_i . f_j / tau) / sum over k of exp(f_i . f_k / tau) ),

    k over the positives and the negatives, with the plain dot product of (projected) embeddings. tau is `temperature`.
    A batch without an anchor has no contrastive term.
    """

    name = "scl"
    meaning = "a contrastive loss over NLI labels, mixed with cross-entropy (Liao 2021)"
    layouts = ("rows", "groups")
    released = RELEASED
    cosine = False

    weight: float = key(
        0.5,
        "lambda in Liao 2021, eq. 3: (1 - weight) CE + weight SCL.",
        between(0.0, 1.0),
        alias="lambda",
        label="lambda (weight of the contrastive loss)",
        search=Range(0.0, 1.0),
    )

    def module(self, dim: int) -> nn.Module | None:
        from trainables.objectives.pair_classifier import PairClassifier

        # With lambda 1 the classifier is not used. Its parameters would only slow down the exchange of gradients.
        return PairClassifier(dim) if self.weight < 1 else None

    def compare(self, batch: EmbeddedBatch) -> ContrastSet:
        contrast = choose_contrast(batch, self)
        device = batch.projected.device
        anchor_group, positives, negatives = (
            to_device(t, device) for t in (contrast.anchor_group, contrast.positives, contrast.negatives)
        )
        premises = contrast.premises.to(device)
        return ContrastSet(
            batch.projected[premises.anchor[anchor_group]],
            batch.projected[batch.hypothesis],
            batch.text[batch.hypothesis],
            positives,
            positives | negatives,
            premises,
            anchor_group,
        )

    def loss(self, batch: EmbeddedBatch, module: Any = None) -> Loss:
        contrastive = super().loss(batch)
        value = self.weight * contrastive.value
        if module is not None:
            value = value + (1 - self.weight) * classification_loss(batch, module).value
        return dataclasses.replace(contrastive, value=value)
