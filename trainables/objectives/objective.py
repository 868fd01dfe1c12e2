"""What an objective sees of a batch, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from trainables.corpora.batch import Pairs
from trainables.recipe import ObjectiveConfig


@dataclass(frozen=True, kw_only=True)
class EmbeddedBatch(Pairs[Tensor]):
    """A global batch of labelled pairs with the embeddings of its items.

    An item is a sentence, or a further view of one: the same text, encoded again under another dropout.

    Every worker holds the whole batch, but answers only for its share of the rows and anchors, so that the
    losses of all workers add up to the loss of one.
    """

    embeddings: Tensor  # (items, dim): the sentence embeddings
    projected: Tensor  # (items, head dim): the same after the projection head, for contrastive terms
    text: Tensor  # (items,) int64, a fingerprint: equal exactly where the texts are
    generator: torch.Generator
    """Draws positives and negatives; the same on every worker."""
    bank: Tensor | None = None  # (entries, head dim): candidates of earlier batches, without gradient
    bank_text: Tensor | None = None  # (entries,) their fingerprints
    rank: int = 0
    workers: int = 1

    def share(self, count: int) -> slice:
        """This worker's part of `count` rows or anchors."""
        return slice(count * self.rank // self.workers, count * (self.rank + 1) // self.workers)


@dataclass(frozen=True)
class Loss:
    """This worker's part of the batch's loss, counts over the whole batch, and what a memory bank may keep of it."""

    value: Tensor  # ()
    counts: Mapping[str, float | Tensor] = field(default_factory=dict)
    """See `counts_of`. An objective may count other things, too: they are summed over the batches for the record. A
    count that is a tensor, (), is read once the device has come so far, and no step waits for it."""
    contrasted: tuple[Tensor, Tensor] | None = None
    """For a memory bank: (candidates, head dim) without gradient, and (candidates,) their fingerprints."""


def counts_of(positives: Tensor, negatives: Tensor) -> Mapping[str, Tensor]:
    """What every report counts, from boolean masks over the whole batch, (anchors, candidates) each; () each.

    An anchor is a row with a positive; rows without one, and their negatives, are not counted.
    """
    anchors = positives.any(dim=1)
    count = anchors.sum()
    return {
        "anchors": count,
        "positives": positives.sum(),
        "negatives": (negatives & anchors.unsqueeze(1)).sum(),
        "batches_without_anchor": (count == 0).long(),
    }


class Objective(nn.Module):
    """A loss over an `EmbeddedBatch`; it may own parameters that are dropped at test time.

    `config` is resolved (`resolve_objective`). `dim` is the size of a sentence embedding; that of a projected one may
    differ.
    """

    needs_embeddings = True
    """False where there is no loss but that of masked language modelling: then nothing is encoded for it, and `forward`
    is never called. Its entry has `mlm_only`."""

    def __init__(self, config: ObjectiveConfig, dim: int) -> None:
        super().__init__()
        self.config = config

    def forward(self, batch: EmbeddedBatch) -> Loss:
        """This worker's part of the loss."""
        raise NotImplementedError
