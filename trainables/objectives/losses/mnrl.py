"""Multiple negatives ranking, with any number of hard negatives, and its special case SimCSE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trainables.objectives.comparison import ContrastSet
from trainables.objectives.contrastive import Contrastive
from trainables.objectives.directions import Directed
from trainables.objectives.groups import Groups
from trainables.objectives.objective import EmbeddedBatch
from trainables.objectives.options import KEEP_FALSE_NEGATIVES


@dataclass(frozen=True)
class Ranking(Contrastive):
    """Compares anchors with the positives and hard negatives of all groups. An anchor's positives are not in each
    other's denominators."""

    layouts: ClassVar[tuple[str, ...]] = ("groups", "pairs", "similar_pairs", "sentences")
    released = KEEP_FALSE_NEGATIVES

    def compare(self, batch: EmbeddedBatch) -> ContrastSet:
        groups = Groups.of_batch(batch)
        membership = groups.membership  # (groups, pairs)
        positives = membership & groups.entailed
        denominator = (groups.entailed & ~membership) | groups.contradicted
        if self.false_negatives != "keep":
            denominator = denominator & ~groups.match_texts(batch.text[batch.hypothesis])
        return ContrastSet.of_groups(batch, groups, positives, denominator)


@dataclass(frozen=True)
class MNRL(Directed, Ranking):
    """SupMPN, eq. 6 (Henderson 2017): the mean over the anchors i of

        -log( exp(s(i, i+)) / ( sum over j of exp(s(i, j+)) + sum over j, k of exp(s(i, j-k)) ) ),

    s the cosine over tau (`temperature`, 0.05 in the paper: a scale of 20), j over the N groups of the batch, j+ the
    one positive of group j and j-k its k-th hard negative. A sentence in two groups counts twice. For other directions
    and weights of hard negatives see `directions.py`.
    """

    name = "mnrl"
    meaning = "an anchor's positive against all others of the batch (MultipleNegativesRankingLoss)"
    most_positives: ClassVar[int | None] = 1


@dataclass(frozen=True)
class SimCSE(MNRL):
    """SimCSE (Gao 2021): eq. 6 of SupMPN with at most one hard negative. SupMPN uses SimCSE's training setup.

    Unsupervised (layout `sentences`): the positive is the anchor under another dropout; there is no hard negative.
    Supervised (layout `groups`): the positive is an entailment of the anchor, the hard negative a contradiction.
    tau (`temperature`) is 0.05. `objective.mlm` adds MLM, with weight 0.1 in SimCSE.
    """

    name = "simcse"
    meaning = "mnrl with at most one hard negative, or a sentence with itself (SimCSE)"
    layouts = ("groups", "sentences")
    most_negatives = 1
