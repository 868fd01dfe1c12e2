"""The interface of objectives: the input is an embedded batch, the output a loss with counts."""

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

    text: Tensor  # (items,) int64: fingerprints, equal exactly for equal texts


@dataclass(frozen=True, kw_only=True)
class EmbeddedBatch(TextPairs):
    """A global batch of labelled pairs with the embeddings of its items.

    An item is a sentence, or the same text encoded again under another dropout. Every worker has the whole batch and
    computes the loss of its `share`. The sum over workers is the loss of the batch. Tensors are on the encoder's
    device. Take counts and groups from `pairs`, which is on the CPU, so that no step waits for a GPU.
    """

    embeddings: Tensor  # (items, dim): the sentence embeddings
    projected: Tensor  # (items, head dim): the embeddings after the projection head, for contrastive terms
    guide: Tensor | None = None  # (items, guide dim): embeddings of a frozen guide or teacher
    entailed: Tensor | None = None
    """(items, items), boolean: whether the second text follows from the first, a premise. None if no grammar made the
    texts."""
    generator: torch.Generator
    """Draws positives and negatives; the same on every worker."""
    bank: Tensor | None = None  # (entries, head dim): candidates of earlier batches, without gradient
    bank_text: Tensor | None = None  # (entries,) fingerprints of the texts in `bank`
    temperature: Tensor | None = None  # (), the learned temperature; None if it is not learned
    on_cpu: TextPairs | None = None
    """The same pairs on the CPU; None: there is no second copy of the pairs."""
    rank: int = 0
    workers: int = 1

    @property
    def pairs(self) -> TextPairs:
        """The pairs on the CPU (labels, groups, texts and indices), or this batch if there is no copy on the CPU."""
        return self if self.on_cpu is None else self.on_cpu

    def share(self, count: int) -> slice:
        """Return this worker's part of `count` pairs or anchors."""
        return slice(count * self.rank // self.workers, count * (self.rank + 1) // self.workers)


@dataclass(frozen=True)
class Loss:
    """This worker's part of the batch's loss, counts over the whole batch, and entries for a memory bank."""

    value: Tensor  # ()
    counts: Mapping[str, float | Tensor] = field(default_factory=dict)
    """Counts as in `counts_of`. The record has their sums over all batches. A count may be a () tensor on the device,
    so that no step waits for it."""
    contrasted: tuple[Tensor, Tensor] | None = None
    """Entries for a memory bank: vectors, (candidates, head dim), without gradient; fingerprints, (candidates,)."""


def counts_of(positives: Tensor, negatives: Tensor) -> Mapping[str, Tensor]:
    """Return the counts that reports show, () each, from boolean masks of the whole batch, (anchors, candidates) each.

    Only anchors with a positive, and their negatives, are counted.
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

    Importing an objective does not import PyTorch: it uses `trainables.lazy_torch`.
    """

    section = "objective"

    name: ClassVar[str]
    layouts: ClassVar[tuple[str, ...]]
    """Values of `corpus.layout` that the objective can learn from. A layout can also name objectives."""
    most_positives: ClassVar[int | None] = None
    """Most positives of an anchor; None: any number."""
    most_negatives: ClassVar[int | None] = None
    """Most hard negatives of an anchor; None: any number."""
    mlm_only: ClassVar[bool] = False
    """Whether the objective has no loss of its own. `loss` is then not called, and `objective.mlm` must be above 0."""
    contrasts: ClassVar[bool] = True
    """Whether the loss compares anchors with candidates. Only then do reports show the numbers of both."""
    fits_population: ClassVar[bool] = False
    """Whether trials can train as a population: `training/population_training.py` implements NT-Xent only."""
    released: ClassVar[Mapping[str, Value]] = {}
    """Settings of `objective.fidelity=released`: those in which the authors' code differs from the paper's text."""

    def check(self, layout: type[Layout]) -> None:
        """Raise `UserError` for settings that do not fit the objective's formula or the layout of the data."""

    def module(self, dim: int) -> nn.Module | None:
        """Return a module that is trained with the encoder and dropped at test time. `dim`: size of embeddings."""
        return None

    def loss(self, batch: EmbeddedBatch, module: Any = None) -> Loss:
        """Return this worker's part of the loss. `module`: what the method `module` returned."""
        raise NotImplementedError

    def memory_bank(self) -> tuple[int, int]:
        """Return size of the memory bank (0: no bank) and warm-up in steps. With a bank, set `Loss.contrasted`."""
        return 0, 0

    @property
    def taught(self) -> bool:
        """Whether the objective learns a teacher's scores that are in the training data."""
        return False

    @property
    def filters(self) -> bool:
        """Whether scores decide which candidates are negatives."""
        return False

    @property
    def settings_stackable(self) -> bool:
        """Whether the loss has no filters, no `dims` and no learned temperature: a population cannot compute these."""
        learned = isinstance(self, Temperature) and self.temperature == "learned"
        return not (self.filters or learned or (isinstance(self, Widths) and self.dims))

    def without_draws(self) -> Self:
        """Return a copy that draws no positives or negatives, for a layout that makes exactly P and Q of them."""
        return self
