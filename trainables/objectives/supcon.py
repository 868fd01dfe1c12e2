"""The supervised contrastive loss of Khosla 2020, as SupMPN states it."""

from __future__ import annotations

from dataclasses import dataclass

from trainables.lazy_torch import torch
from trainables.objectives.contrastive import Comparison, Contrastive
from trainables.objectives.groups import Groups
from trainables.objectives.objective import EmbeddedBatch
from trainables.objectives.options import KEEPS


@dataclass(frozen=True)
class SupCon(Contrastive):
    """SupMPN, eq. 5: the mean over the anchors i, and over the P positives p of an anchor, of

        -log( exp(s(i, p)) / sum over j of exp(s(i, j)) ),

    s the cosine over tau (`temperature`), j over the positives of all groups, so that the anchor's own compete with one
    another. There are no hard negatives.

    Khosla's original (their L_out, eq. 2) has no anchors apart: each sample of the batch is an anchor once, and is
    contrasted with all other samples, so that here positives would be anchors too, and anchors candidates.
    """

    name = "supcon"
    layouts = ("groups", "pairs", "similar_pairs", "sentences", "spans")
    most_negatives = 0
    released = KEEPS

    def compare(self, batch: EmbeddedBatch) -> Comparison:
        groups = Groups.of_batch(batch)
        own = groups.own  # (groups, pairs)
        positives = own & groups.entailed
        shared = groups.entailed.expand_as(own)
        if self.false_negatives == "mask":
            shared = positives | (shared & ~groups.agree(batch.text[batch.hypothesis]))
        return Comparison(
            batch.projected[groups.anchor],
            batch.projected[batch.hypothesis],
            batch.text[batch.hypothesis],
            positives,
            shared,
            groups,
            torch.arange(len(own), device=own.device),
        )
