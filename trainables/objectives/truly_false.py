"""Counts of how often the removal of a negative is right, for texts whose grammar decides which negatives are false."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trainables.lazy_torch import torch
from trainables.objectives.comparison import ContrastSet

if TYPE_CHECKING:
    from torch import Tensor


def count_false_negatives(entailed: Tensor, text: Tensor, unmasked: ContrastSet, left: Tensor) -> dict[str, Tensor]:
    """Return counts of rightly and wrongly removed negatives over the whole batch, () each.

    A candidate is a false negative if its text follows from the text of the group's anchor. It would be a positive if
    the corpus had this pair. As in `counts_of`, only anchors with a positive count. Entries of a memory bank do not
    count, as entailment is unknown for them.

    entailed: (items, items), boolean: whether the second text follows from the first, an anchor. text: (items,)
    fingerprints.
    unmasked: the comparison with all candidates. left: (anchors, candidates), boolean, the negatives left in the loss;
    entries of a memory bank come last.
    """
    order = text.argsort()
    item = order[torch.searchsorted(text[order], unmasked.text)]  # (candidates,)
    false = entailed[unmasked.groups.anchor[unmasked.anchor_group]][:, item]  # (anchors, candidates)
    anchors = unmasked.positives.any(dim=1, keepdim=True)
    negatives = unmasked.denominator & ~unmasked.positives & anchors
    masked = negatives & ~left[:, : len(item)]
    return count_by_masks(anchors, negatives, masked, false)


def count_by_masks(anchors: Any, negatives: Any, masked: Any, false: Any) -> dict[str, Any]:
    """Return the counts of `count_false_negatives`, () each, from boolean tensors or arrays. `anchors`: the judged
    anchors. The other masks are (anchors, candidates): `negatives` before any is masked, the `masked` ones, and
    the candidates that are truly `false`."""
    return {
        "judged_anchors": anchors.sum(),
        "false_negatives": (negatives & false).sum(),
        "caught_false_negatives": (masked & false).sum(),
        "wrongly_masked_negatives": (masked & ~false).sum(),
    }
