"""What an objective sees of a batch, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

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
    """Pairs of items of which it is known which have the same text."""

    text: Tensor  # (items,) int64, a fingerprint: equal exactly where the texts are


@dataclass(frozen=True, kw_only=True)
class EmbeddedBatch(TextPairs):
    """A global batch of labelled pairs with the embeddings of its items.

    An item is a sentence, or a further view of one: the same text, encoded again under another dropout.

    Every worker holds the whole batch, but answers only for its share of the rows and anchors, so that the
    losses of all workers add up to the loss of one.

    All of it lies on the encoder's device. How many rows have a label, or which groups there are, is asked of `known`:
    a GPU would have to be waited for until it has embedded the batch.
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
    def known(self) -> TextPairs:
        """Labels, groups, texts and places as they are known before anything is embedded."""
        return self if self.on_cpu is None else self.on_cpu

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
    """Whether it has no loss of its own: then nothing is encoded for it, `loss` is never called, and `objective.mlm`
    must be above 0."""
    contrasts: ClassVar[bool] = True
    """Whether it compares anchors with candidates, which a report counts."""
    stacks: ClassVar[bool] = False
    """Whether many trials with it can train as a population: `training/population_training.py` knows NT-Xent alone."""
    released: ClassVar[Mapping[str, Value]] = {}
    """What `objective.fidelity=released` sets: where the authors' code does something else than the paper's text."""

    def check(self, layout: type[Layout]) -> None:
        """Refuse, by `UserError`, what its formula has no place for, or what it does not find in that layout."""

    def module(self, dim: int) -> nn.Module | None:
        """What it trains of its own, for sentence embeddings of size `dim`; it is dropped at test time."""
        return None

    def loss(self, batch: EmbeddedBatch, own: Any = None) -> Loss:
        """This worker's part of the loss. `own`: the module."""
        raise NotImplementedError

    def memory(self) -> tuple[int, int]:
        """The size of a memory bank, 0 for none, and its warm-up in steps. With one a `Loss` has `contrasted`."""
        return 0, 0

    @property
    def taught(self) -> bool:
        """Whether it learns what a teacher says in the data."""
        return False

    @property
    def filters(self) -> bool:
        """Whether scores decide which candidates are negatives."""
        return False

    @property
    def plain(self) -> bool:
        """Whether it is its formula alone, which is what a population knows."""
        learned = isinstance(self, Temperature) and self.temperature == "learned"
        return not (self.filters or learned or (isinstance(self, Widths) and self.dims))

    def drawing_none(self) -> Objective:
        """The same for a layout that has made exactly P positives and Q negatives: none are left to be drawn."""
        return self
