"""The supervised contrastive loss of Khosla 2020, in SupMPN's form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trainables.keys import key
from trainables.objectives.comparison import ContrastSet
from trainables.objectives.contrastive import Contrastive
from trainables.objectives.groups import GroupMembers, Groups
from trainables.objectives.objective import EmbeddedBatch
from trainables.objectives.options import KEEP_FALSE_NEGATIVES


@dataclass(frozen=True)
class SupCon(Contrastive):
    """SupMPN, eq. 5: the mean over the anchors i, and over the P positives p of an anchor, of

        -log( exp(s(i, p)) / sum over j of exp(s(i, j)) ),

    s the cosine over tau (`temperature`), j over the positives of all groups, so that the anchor's own positives
    compete. There are no hard negatives.

    `contrast="all"` is Khosla's original (their L_out, eq. 2), which does not separate anchors from positives: each
    text of the batch, anchor or positive, is an anchor once, and j runs over all other texts.
    """

    name = "supcon"
    meaning = "all positives of an anchor against the rest of the batch (Khosla 2020)"
    layouts = ("groups", "pairs", "similar_pairs", "sentences", "spans", "same_label")
    most_negatives = 0
    released = KEEP_FALSE_NEGATIVES

    contrast: Literal["anchors", "all"] = key(
        "anchors",
        "anchors: the anchor of each group with the positives of all groups, as SupMPN states it; all: each text of a "
        "group with all other texts, as Khosla 2020 does.",
    )

    def compare(self, batch: EmbeddedBatch) -> ContrastSet:
        if self.contrast == "all":
            return self._all(batch)
        groups = Groups.of_batch(batch)
        membership = groups.membership  # (groups, pairs)
        positives = membership & groups.entailed
        denominator = groups.entailed.expand_as(membership)
        if self.false_negatives != "keep":
            denominator = positives | (denominator & ~groups.match_texts(batch.text[batch.hypothesis]))
        return ContrastSet.of_groups(batch, groups, positives, denominator)

    def _all(self, batch: EmbeddedBatch) -> ContrastSet:
        classes = GroupMembers.of(batch, self.false_negatives != "keep")
        members, count = classes.members, len(classes.members)
        positives = classes.positives[:, :count]
        denominator = positives | classes.negatives[:, :count]
        vectors = batch.projected[members]
        return ContrastSet(
            vectors, vectors, batch.text[members], positives, denominator, classes.groups, classes.member_group
        )
