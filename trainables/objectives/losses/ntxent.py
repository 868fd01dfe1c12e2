"""NT-Xent: normalised temperature-scaled cross-entropy over pairs, the loss of CLSR and DeCLUTR."""

from __future__ import annotations

from dataclasses import dataclass

from trainables.lazy_torch import torch
from trainables.objectives.comparison import ContrastSet
from trainables.objectives.contrastive import Contrastive
from trainables.objectives.groups import Groups
from trainables.objectives.objective import EmbeddedBatch
from trainables.objectives.options import KEEP_FALSE_NEGATIVES


@dataclass(frozen=True)
class NTXent(Contrastive):
    """CLSR, eq. 1; DeCLUTR, eq. 1 and 2; SimCLR. Over G groups, 2G vectors: the anchors and their positives.

        l(a, b) = -log( exp(s(a, b)) / sum over i != a of exp(s(a, i)) ),

    s the cosine over tau (`temperature`; 0.1 in CLSR, 0.05 in DeCLUTR), i over the 2G vectors. The loss is the mean of
    l(a, b) and l(b, a) over all pairs; DeCLUTR's eq. 1 prints the sum. If an anchor has several positives, b is the
    mean of their (projected) embeddings. A group without a positive is left out.

    In the search for false negatives, a mean of several positives has the text of each of them. In a memory bank it has
    the text of its anchor.
    """

    name = "ntxent"
    meaning = "pairs in both directions against all other texts of the batch (SimCLR, CLSR, DeCLUTR)"
    layouts = ("groups", "pairs", "similar_pairs", "sentences", "spans")
    most_negatives = 0
    fits_population = True
    released = KEEP_FALSE_NEGATIVES

    def compare(self, batch: EmbeddedBatch) -> ContrastSet:
        groups = Groups.of_batch(batch)
        count = len(groups.anchor)
        pair, item = groups.pair_group[groups.positives], batch.hypothesis[groups.positives]
        sizes = torch.zeros_like(groups.anchor).index_add(0, pair, torch.ones_like(pair))  # (groups,)
        sums = batch.projected.new_zeros(count, batch.projected.shape[1]).index_add(0, pair, batch.projected[item])
        vectors = torch.cat([batch.projected[groups.anchor], sums / sizes.clamp(min=1).unsqueeze(1)])  # (2 groups, dim)

        text = batch.text[groups.anchor]
        mean_text = torch.where(sizes == 1, text.scatter(0, pair, batch.text[item]), text)

        anchor_group = torch.arange(count, device=pair.device).repeat(2)
        itself = torch.eye(len(anchor_group), dtype=torch.bool, device=pair.device)
        paired = (sizes > 0)[anchor_group]
        positives = (anchor_group == anchor_group.unsqueeze(1)) & ~itself & paired
        denominator = (paired & ~itself).clone()
        if self.false_negatives != "keep":
            matches = groups.match_texts(text)  # (groups, groups)
            positive_matches = groups.match_texts(batch.text[item]).int()
            means = (
                torch.zeros(count, count, dtype=torch.int32, device=pair.device).index_add(1, pair, positive_matches)
                > 0
            )
            denominator = positives | (denominator & ~torch.cat([matches, means], dim=1)[anchor_group])
        return ContrastSet(vectors, vectors, torch.cat([text, mean_text]), positives, denominator, groups, anchor_group)
