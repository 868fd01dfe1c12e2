"""How right it is to take a candidate from the negatives, where a grammar knows which of them are truly false."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trainables.lazy_torch import torch
from trainables.objectives.comparison import ContrastSet

if TYPE_CHECKING:
    from torch import Tensor


def judged(entailed: Tensor, text: Tensor, unmasked: ContrastSet, left: Tensor) -> dict[str, Tensor]:
    """What filters caught, and what else they took; counts over the whole batch, () each.

    A candidate is truly false where its text follows from the text of the group's anchor: it would be a positive, had
    the corpus made a pair of the two. Only anchors with a positive count, as in `counts_of`, and only candidates of the
    batch: nobody knows what the entries of a memory bank mean.

    entailed: (items, items), boolean, which texts follow from each anchor's. text: (items,) their fingerprints.
    unmasked: what is compared where every candidate is kept. left: (anchors, candidates), boolean, the negatives that
    the loss has; those of a memory bank come last.
    """
    order = text.argsort()
    item = order[torch.searchsorted(text[order], unmasked.text)]  # (candidates,)
    false = entailed[unmasked.groups.anchor[unmasked.owner]][:, item]  # (anchors, candidates)
    anchors = unmasked.positives.any(dim=1, keepdim=True)
    negatives = unmasked.shared & ~unmasked.positives & anchors
    masked = negatives & ~left[:, : len(item)]
    return counted(anchors, negatives, masked, false)


def counted(anchors: Any, negatives: Any, masked: Any, false: Any) -> dict[str, Any]:
    """The counts, () each, from tensors or arrays of truth values: which anchors are judged; and of their candidates,
    (anchors, candidates), which are negatives before any is masked, which of these are masked, and which are truly
    false."""
    return {
        "judged_anchors": anchors.sum(),
        "false_negatives": (negatives & false).sum(),
        "caught_false_negatives": (masked & false).sum(),
        "wrongly_masked_negatives": (masked & ~false).sum(),
    }
