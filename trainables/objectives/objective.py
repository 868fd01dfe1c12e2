"""The contract of an objective: its input, an embedded batch, and its output, a loss with counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from trainables.corpora.batch import BatchPairs
from trainables.corpora.layouts import Layout
from trainables.keys import Options, Value
from trainables.objectives.temperature import Temperature
from trainables.objectives.widths import Widths

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn
else:
    Tensor = TypeVar("Tensor")


@dataclass(frozen=True, kw_only=True)
class TextPairs(BatchPairs[Tensor]):
    """Pairs of items with a fingerprint of each item's text."""

    text: Tensor  # (items,) int64, a fingerprint: equal exactly where the texts are


@dataclass(frozen=True, kw_only=True)
class EmbeddedBatch(TextPairs):
    """A global batch of labelled pairs with the embeddings of its items.

    An item is a sentence, or the same text encoded again under another dropout. Every worker has the whole batch and
    gives the loss of its `share`; the losses of all workers add up to the loss of one. Tensors are on the encoder's
    device. Take counts and groups from `pairs`, on the CPU: no step then waits for a GPU.
    """

    embeddings: Tensor  # (items, dim): the sentence embeddings
    projected: Tensor  # (items, head dim): the same after the projection head, for contrastive terms
    guide: Tensor | None = None  # (items, guide dim): what a frozen guide or teacher gives
    entailed: Tensor | None = None
    """(items, items), boolean: which texts follow from each premise's, where a grammar knows that. For counts alone."""
    generator: torch.Generator
    """Draws positives and negatives; the same on every worker."""
    bank: Tensor | None = None  # (entries, head dim): candidates of earlier batches, without gradient
    bank_text: Tensor | None = None  # (entries,) their fingerprints
    temperature: Tensor | None = None  # (), of objectives that learn it
    on_cpu: TextPairs | None = None
    """The same pairs on the CPU, where they came from; None: these are the only ones."""
    rank: int = 0
    workers: int = 1

    @property
    def pairs(self) -> TextPairs:
        """Labels, groups, texts and places as they are known before anything is embedded."""
        return self if self.on_cpu is None else self.on_cpu

    def share(self, count: int) -> slice:
        """This worker's part of `count` rows or anchors."""
        return slice(count * self.rank // self.workers, count * (self.rank + 1) // self.workers)


@dataclass(frozen=True)
class Loss:
    """This worker's part of the batch's loss, counts over the whole batch, and entries for a memory bank."""

    value: Tensor  # ()
    counts: Mapping[str, float | Tensor] = field(default_factory=dict)
    """See `counts_of`. The record has their sums over all batches. A count may be a tensor, (), for which no step
    waits."""
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


@dataclass(frozen=True)
class Objective(Options):
    """A loss over an `EmbeddedBatch`; an entry of `OBJECTIVES`. Its fields are its keys.

    Importing it is light: PyTorch comes from `trainables.lazy_torch`.
    """

    section = "objective"

    name: ClassVar[str]
    layouts: ClassVar[tuple[str, ...]]
    """The layouts of a corpus (`corpus.layout`) that it can learn from; a layout may name further objectives."""
    most_positives: ClassVar[int | None] = None
    """Most positives of an anchor; None takes any number."""
    most_negatives: ClassVar[int | None] = None
    """Most hard negatives of an anchor; None takes any number, 0 none."""
    mlm_only: ClassVar[bool] = False
    """Whether it has no loss of its own. `loss` is then never called, and `objective.mlm` must be above 0."""
    contrasts: ClassVar[bool] = True
    """Whether it compares anchors with candidates, which a report counts."""
    stacks: ClassVar[bool] = False
    """Whether many trials with it can train as a population: `training/population_training.py` knows NT-Xent alone."""
    released: ClassVar[Mapping[str, Value]] = {}
    """The values of `objective.fidelity=released`, where the authors' code differs from the paper's text."""

    def check(self, layout: type[Layout]) -> None:
        """Raise `UserError` for keys that its formula, or the layout, cannot serve."""

    def module(self, dim: int) -> nn.Module | None:
        """A module that it trains beside the encoder, for embeddings of size `dim`; dropped at test time."""
        return None

    def loss(self, batch: EmbeddedBatch, own: Any = None) -> Loss:
        """This worker's part of the loss. `own`: the module."""
        raise NotImplementedError

    def memory(self) -> tuple[int, int]:
        """The size of a memory bank, 0 for none, and its warm-up in steps. With one a `Loss` has `contrasted`."""
        return 0, 0

    @property
    def taught(self) -> bool:
        """Whether it learns a teacher's scores in the data."""
        return False

    @property
    def filters(self) -> bool:
        """Whether scores decide which candidates are negatives."""
        return False

    @property
    def plain(self) -> bool:
        """Whether it is its formula alone, without filters, widths and a learned temperature, as populations need."""
        learned = isinstance(self, Temperature) and self.temperature == "learned"
        return not (self.filters or learned or (isinstance(self, Widths) and self.dims))

    def drawing_none(self) -> Self:
        """The same without drawing, for a layout that makes exactly P positives and Q negatives."""
        return self
