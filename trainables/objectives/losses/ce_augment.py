"""The Augment baselines of Liao 2021: cross-entropy over the pairs that SCL would contrast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainables.labels import CONTRADICTION, ENTAILMENT
from trainables.lazy_torch import torch
from trainables.objectives.kernel import compute_in_parts
from trainables.objectives.liao_pairs import RELEASED, LiaoPairs, choose_contrast
from trainables.objectives.objective import EmbeddedBatch, Loss, Objective, counts_of
from trainables.to_device import to_device

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class AugmentedCrossEntropy(LiaoPairs, Objective):
    """Mean cross-entropy over (anchor, positive) and (anchor, negative) pairs, at most N+ and N- of them per anchor.

    A positive is labelled entailment. A negative of the anchor's own premise keeps its label. The paper does not
    specify the label of a hypothesis of another premise; here it is contradiction, as SNLI labels unrelated captions.
    """

    name = "ce_augment"
    meaning = "cross-entropy over the pairs that scl contrasts (Liao 2021)"
    layouts = ("rows", "groups")
    released = RELEASED

    def module(self, dim: int) -> nn.Module:
        from trainables.objectives.pair_classifier import PairClassifier

        return PairClassifier(dim)

    def loss(self, batch: EmbeddedBatch, module: Any = None) -> Loss:
        contrast = choose_contrast(batch, self)
        rows, pairs = torch.nonzero(contrast.positives | contrast.negatives, as_tuple=True)  # (augmented,) twice
        count = len(rows)
        mine = batch.share(count)
        rows, pairs = rows[mine], pairs[mine]
        device = batch.embeddings.device
        texts, anchors = batch.pairs, contrast.premises.anchor[contrast.anchor_group[rows]]
        label = texts.label[pairs].masked_fill(texts.premise[pairs] != anchors, CONTRADICTION)
        label = label.masked_fill(contrast.positives[rows, pairs], ENTAILMENT)
        anchors, hypotheses, label = (to_device(t, device) for t in (anchors, texts.hypothesis[pairs], label))

        def summed(part: slice) -> Tensor:  # (1,)
            u, v = batch.embeddings[anchors[part]], batch.embeddings[hypotheses[part]]
            summed_up: Tensor = module(u, v, label[part])
            return summed_up.unsqueeze(0)

        losses = compute_in_parts(summed, len(rows), 3 * batch.embeddings.shape[1])
        return Loss(losses.sum() / max(count, 1), counts_of(contrast.positives, contrast.negatives))
