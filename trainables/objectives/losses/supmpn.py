"""Supervised multiple positives and negatives ranking: the method of Dehghan and Amasyali 2022."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trainables.keys import Value, key
from trainables.objectives.comparison import ContrastSet
from trainables.objectives.losses.mnrl import Ranking
from trainables.objectives.objective import EmbeddedBatch
from trainables.objectives.options import KEEP_FALSE_NEGATIVES

RELEASED: Mapping[str, Value] = {**KEEP_FALSE_NEGATIVES, "objective.own_positives": "score_zero"}


@dataclass(frozen=True)
class SupMPN(Ranking):
    """SupMPN, eq. 7: the mean over the anchors i, and over the P positives p of an anchor, of

        -log( exp(s(i, p)) / ( exp(s(i, p)) + S_positives + S_negatives ) ),

    s the cosine over tau (`temperature`, 0.05 in the paper: a scale of 20), S_positives the sum of exp(s(i, k)) over
    the positives k of all other groups, S_negatives the same sum over the hard negatives of all groups. The anchor's
    own other positives are left out. With one positive the loss is eq. 6.

    With `own_positives="score_zero"` each left-out positive has the score 0, as in the released code. It then adds
    exp(0) = 1 to the denominator.
    """

    name = "supmpn"
    meaning = "several positives and hard negatives of each anchor (SupMPN)"
    layouts = ("groups", "pairs", "similar_pairs", "sentences", "spans", "same_label")
    released = RELEASED

    own_positives: Literal["leave_out", "score_zero"] = key(
        "leave_out",
        "Whether an anchor's other positives are left out of the denominator, or each adds exp(0) = 1 to it, as in the "
        "released code.",
    )

    def compare(self, batch: EmbeddedBatch) -> ContrastSet:
        comparison = super().compare(batch)
        if self.own_positives == "leave_out":
            return comparison
        left_out = (comparison.positives.sum(dim=1) - 1).clamp(min=0)
        return dataclasses.replace(comparison, zero_scores=left_out)
