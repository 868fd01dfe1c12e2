"""Choice of anchors, positives and negatives in a batch of NLI pairs, as in Liao 2021."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

from trainables.keys import Value, key
from trainables.lazy_torch import torch
from trainables.objectives.groups import Groups
from trainables.objectives.kernel import draw
from trainables.objectives.objective import EmbeddedBatch
from trainables.objectives.options import KEEP_FALSE_NEGATIVES, TextMask
from trainables.sections import NEGATIVES, POSITIVES

if TYPE_CHECKING:
    from torch import Tensor


RELEASED_OUTSIDE_LOSS: Mapping[str, Value] = {"pooling.padding": "count", "optimisation.schedule": "constant"}
"""Settings of Liao's released code outside the loss."""
RELEASED: Mapping[str, Value] = {**KEEP_FALSE_NEGATIVES, "objective.anchors": "rows", **RELEASED_OUTSIDE_LOSS}
"""All settings of Liao's released code that differ from the paper."""


@dataclass(frozen=True)
class LiaoPairs(TextMask):
    """The keys that decide which pairs are contrasted."""

    positives: int | None = POSITIVES()
    negatives: int | None = NEGATIVES(when=("anchors", "premises".__eq__))
    anchors: Literal["premises", "rows"] = key(
        "premises",
        "premises: each premise with a positive is an anchor once; rows: each entailed row is, its own hypothesis is "
        "among its positives, and all negatives are taken, as in the released code.",
    )

    def without_draws(self) -> Self:
        return replace(self, positives=None, negatives=None)


@dataclass(frozen=True)
class Contrast:
    """Chosen anchors and masks, on the CPU. Candidates are the hypotheses of all pairs of the batch."""

    premises: Groups  # the pairs of the batch, grouped by premise
    anchor_group: Tensor  # (anchors,) the group of each anchor, which is its premise
    positives: Tensor  # (anchors, pairs), boolean
    negatives: Tensor  # (anchors, pairs), boolean


def choose_contrast(batch: EmbeddedBatch, config: LiaoPairs) -> Contrast:
    """Choose anchors, positives and negatives: section 3 of the paper, "Anchor, Positive and Negative Sentence".

    `anchors="premises"`: each premise with a positive in the batch is one anchor. "rows": each entailed pair is one
    anchor, its own hypothesis is always among the positives, and N- has no effect, as in the released code.
    Every hypothesis that the premise does not entail is a negative. With `false_negatives="mask"` no negative has the
    text of the anchor or of a hypothesis that the anchor entails, also if the text is in a pair of another premise.
    """
    pairs = batch.pairs
    premises = Groups.of_pairs(pairs, pairs.premise)
    rows, by_row = premises.positives, config.anchors == "rows"
    anchor_group = premises.pair_group[rows] if by_row else premises.pair_group[rows].unique()  # (anchors,)
    positives = (premises.pair_group == anchor_group.unsqueeze(1)) & premises.entailed  # (anchors, pairs)
    negatives = ~positives
    if config.false_negatives != "keep":
        negatives = ~premises.match_texts(pairs.text[pairs.hypothesis])[anchor_group]
    if not by_row:
        chosen = draw(positives, config.positives, batch.generator)
        return Contrast(premises, anchor_group, chosen, draw(negatives, config.negatives, batch.generator))
    itself = torch.zeros_like(positives)
    itself[torch.arange(len(rows)), rows] = True
    others = None if config.positives is None else config.positives - 1
    return Contrast(premises, anchor_group, itself | draw(positives & ~itself, others, batch.generator), negatives)
