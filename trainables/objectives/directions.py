"""Directions of a ranking loss (query to document, document to query, and within one side), and extra weight for hard
negatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from trainables.corpora.layouts import Layout
from trainables.errors import UserError
from trainables.keys import Range, at_least, key
from trainables.lazy_torch import torch
from trainables.objectives.comparison import ContrastSet
from trainables.objectives.contrastive import Contrastive
from trainables.objectives.objective import EmbeddedBatch

if TYPE_CHECKING:
    from torch import Tensor

FORWARD = ("query_to_doc",)
DIRECTIONS = (*FORWARD, "doc_to_query", "query_to_query", "doc_to_doc")
SAME_SIDE = DIRECTIONS[2:]


def _check_names(directions: Sequence[str]) -> str | None:
    """Return the problem if a direction is repeated or out of order, as equal settings must be written alike."""
    if directions and directions[0] == FORWARD[0] and list(directions) == [d for d in DIRECTIONS if d in directions]:
        return None
    return f"must be {FORWARD[0]}, then any of {', '.join(DIRECTIONS[1:])} in this order"


@dataclass(frozen=True)
class Directed(Contrastive):
    """A contrastive loss with one positive per anchor, in one or several directions. A query is an anchor, its document
    is its positive, and further documents are hard negatives."""

    directions: tuple[str, ...] = key(
        FORWARD,
        "What is compared: query_to_doc, an anchor with all positives and hard negatives of the batch; doc_to_query, "
        "its positive with all anchors; query_to_query, the anchor with other anchors; doc_to_doc, the positive with "
        "the positives and hard negatives of other anchors. All four, joint, are the loss of GTE (Li 2023).",
        _check_names,
    )
    partition: Literal["joint", "apart"] = key(
        "joint",
        "joint: the terms of all directions stand in one softmax, where the pair is met once each way; apart: "
        "query_to_doc and doc_to_query have each their own, and the loss is the mean of both.",
        when=("directions", lambda directions: len(directions) > 1),
    )
    hardness: float = key(
        0.0,
        "alpha, by which negatives of query_to_doc weigh more the more alike they are: alpha times the similarity, "
        "without gradient, is added to their scores (Lan 2025: 9; EmbeddingGemma: 5).",
        at_least(0.0),
        label="alpha (hardness of negatives)",
        search=Range(0.0, 10.0),
    )
    hardness_of: Literal["in_batch", "hard", "all"] = key(
        "all",
        "Which negatives objective.hardness raises: the texts of other anchors, the anchor's own hard negatives, or "
        "both.",
        when=("hardness", bool),
    )

    def check(self, layout: type[Layout]) -> None:
        alone = [name for name in self.directions if name in SAME_SIDE]
        if self.partition == "apart" and alone:
            raise UserError(
                f"objective.partition=apart gives each direction a softmax of its own, and {alone[0]} has no positive; "
                "set objective.partition=joint"
            )
        if self.bank and (self.hardness or self.directions != FORWARD):
            key = "objective.hardness" if self.hardness else "objective.directions"
            raise UserError(
                f"{key} needs to know which text of a bank is a query and whose hard negative it is, and "
                "objective.bank holds texts alone; set objective.bank=0"
            )

    def compare(self, batch: EmbeddedBatch) -> ContrastSet:
        compared = super().compare(batch)
        if self.hardness:
            own, entailed = compared.groups.membership, compared.groups.entailed
            raised = {"in_batch": ~own, "hard": own & ~entailed, "all": ~(own & entailed)}[self.hardness_of]
            compared = replace(compared, hardness=self.hardness * raised.to(compared.anchors.dtype))
        return compared if self.directions == FORWARD else self._further(compared, batch.text[compared.groups.anchor])

    def _further(self, base: ContrastSet, text: Tensor) -> ContrastSet:
        """Add all chosen directions but query_to_doc to `base`. `text`: (anchors,) the fingerprints of the queries."""
        queries, documents = base.anchors, base.candidates
        partners = documents[base.positives.int().argmax(dim=1)]  # a query without a document is in no mask
        itself = torch.eye(len(queries), dtype=torch.bool, device=queries.device)
        pair, others = itself & base.positives.any(dim=1, keepdim=True), ~itself  # (queries, queries)
        if self.false_negatives != "keep":
            others = others & ~base.groups.match_texts(text)
        hardness = torch.zeros_like(base.denominator, dtype=queries.dtype) if base.hardness is None else base.hardness
        if self.partition == "apart":
            return replace(
                base,
                anchors=torch.cat([queries, partners]),
                candidates=torch.cat([documents, queries]),
                text=torch.cat([base.text, text]),
                positives=torch.block_diag(base.positives, pair).bool(),
                denominator=torch.block_diag(base.denominator, others).bool(),
                anchor_group=base.anchor_group.repeat(2),
                hardness=None if base.hardness is None else torch.block_diag(hardness, 0.0 * pair),
            )
        back = "doc_to_query" in self.directions
        none, nothing = torch.zeros_like(pair), torch.zeros_like(base.denominator)
        further = base.denominator & ~base.groups.membership
        # Candidates, texts, positives, denominator. Blocks of `partners` come first. A pair counts once each way.
        blocks = {
            "doc_to_query": (queries, text, pair, others | pair),
            "doc_to_doc": (documents, base.text, nothing, further),
            "query_to_doc": (documents, base.text, base.positives, base.denominator | (base.positives & back)),
            "query_to_query": (queries, text, none, others),
        }
        chosen = {name: block for name, block in blocks.items() if name in self.directions}
        candidates, texts, positives, denominator = zip(*chosen.values(), strict=True)
        raised = [hardness if name == FORWARD[0] else 0.0 * block[2] for name, block in chosen.items()]
        return replace(
            base,
            candidates=torch.cat(candidates),
            text=torch.cat(texts),
            positives=torch.cat(positives, dim=1),
            denominator=torch.cat(denominator, dim=1),
            partners=partners,
            partner_candidates=sum(len(block[0]) for name, block in chosen.items() if name.startswith("doc")),
            hardness=None if base.hardness is None else torch.cat(raised, dim=1),
        )
