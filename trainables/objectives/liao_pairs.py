"""Anchors, positives and negatives of a batch of NLI pairs, as Liao 2021 chooses them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

from trainables.keys import Value, key
from trainables.lazy_torch import torch
from trainables.objectives.groups import Groups
from trainables.objectives.kernel import draw
from trainables.objectives.objective import EmbeddedBatch
from trainables.objectives.options import KEEPS, TextMask
from trainables.sections import NEGATIVES, POSITIVES

if TYPE_CHECKING:
    from torch import Tensor


OUTSIDE: Mapping[str, Value] = {"pooling.padding": "count", "optimisation.schedule": "constant"}
"""What Liao's released code does beside the loss."""
RELEASED: Mapping[str, Value] = {**KEEPS, "objective.anchors": "rows", **OUTSIDE}
"""What it does with both."""


@dataclass(frozen=True)
class LiaoPairs(TextMask):
    """The keys that say which pairs are contrasted."""

    positives: int | None = POSITIVES()
    negatives: int | None = NEGATIVES(when=("anchors", "premises".__eq__))
    anchors: Literal["premises", "rows"] = key(
        "premises",
        "premises: each premise with a positive is an anchor once; rows: each entailed row is, its own hypothesis is "
        "among its positives, and all negatives are taken, as in the released code.",
    )

    def drawing_none(self) -> Self:
        return replace(self, positives=None, negatives=None)


@dataclass(frozen=True)
class Contrast:
    """Candidates are the batch's hypotheses, one for each pair. All on the CPU."""

    premises: Groups  # the rows of each premise of the batch
    owner: Tensor  # (anchors,) the premise of each anchor, a group
    positives: Tensor  # (anchors, pairs), boolean
    negatives: Tensor  # (anchors, pairs), boolean


def choose_contrast(batch: EmbeddedBatch, config: LiaoPairs) -> Contrast:
    """Section 3 of the paper, "Anchor, Positive and Negative Sentence".

    `anchors="premises"`: each premise with a positive in the batch is an anchor once. "rows": each entailed row is,
    with its own hypothesis always among the positives, and N- has no effect, as in the released code.
    A negative is every hypothesis that the premise does not entail. With `false_negatives="mask"` none of them has the
    text of the anchor or of one that it entails, also where it stands in a row of another premise.
    """
    pairs = batch.pairs
    premises = Groups.of_pairs(pairs, pairs.premise)
    rows, by_row = premises.positives, config.anchors == "rows"
    owner = premises.of[rows] if by_row else premises.of[rows].unique()  # (anchors,)
    positives = (premises.of == owner.unsqueeze(1)) & premises.entailed  # (anchors, pairs)
    negatives = ~positives
    if config.false_negatives != "keep":
        negatives = ~premises.agree(pairs.text[pairs.hypothesis])[owner]
    if not by_row:
        chosen = draw(positives, config.positives, batch.generator)
        return Contrast(premises, owner, chosen, draw(negatives, config.negatives, batch.generator))
    itself = torch.zeros_like(positives)
    itself[torch.arange(len(rows)), rows] = True
    others = None if config.positives is None else config.positives - 1
    return Contrast(premises, owner, itself | draw(positives & ~itself, others, batch.generator), negatives)
