"""The base class of layouts, which make the batches of a training from a recipe's keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from trainables.corpora.batch import Sampler
from trainables.corpora.request import SamplerRequest
from trainables.keys import Options, Value
from trainables.sections import EncoderConfig


@dataclass(frozen=True)
class Layout(Options):
    """Base of the entries of `LAYOUTS`. The fields are recipe keys."""

    section = "corpus"

    name: ClassVar[str]
    reads: ClassVar[str]
    """The recipe key that names the data."""
    draws_tokens: ClassVar[bool] = False
    """Whether the layout draws tokens, and so needs `SamplerRequest.encoder`."""
    has_sentences: ClassVar[bool] = True
    """Whether the layout has training sentences, so that `sentences` can be called."""
    positives_at_most: ClassVar[int | None] = None
    """Most positives of an anchor in a batch; None: any number."""
    hard_negatives: ClassVar[bool] = True
    """Whether a batch has hard negatives."""
    exact_counts: ClassVar[bool] = False
    """Whether every anchor has exactly P positives and Q hard negatives, so that an objective need not draw them."""
    taught: ClassVar[bool] = False
    """Whether a batch has a teacher's scores if the data have them."""
    can_avoid_duplicates: ClassVar[bool] = False
    """Whether the layout can put equal texts into different batches (`SamplerRequest.no_duplicates`)."""
    fits_population: ClassVar[bool] = False
    """Whether trials with this layout can train as a population, because each entailed pair is a group."""
    groups_are_classes: ClassVar[bool] = False
    """Whether a group is a class, of which the corpus may have more texts than the batch."""
    objectives: ClassVar[tuple[str, ...]] = ()
    """Objectives that fit this layout, in addition to the objectives that name this layout."""
    released: ClassVar[Mapping[str, Value]] = {}
    """Keys and values that `objective.fidelity=released` sets, where the authors' code differs from the paper."""

    @property
    def parts(self) -> tuple[type[Layout], ...]:
        """The layouts that make the batches: this one, or several in a mixture. An objective must fit each."""
        return (type(self),)

    @property
    def anchors_each(self) -> int:
        """Number of anchors in each unit of a batch."""
        return 1

    @property
    def mines(self) -> bool:
        """Whether the layout mines hard negatives, and so needs `SamplerRequest.embed`."""
        return False

    @property
    def miner(self) -> EncoderConfig | None:
        """The frozen encoder that mines; None: the original encoder mines."""
        return None

    def make(self, request: SamplerRequest) -> tuple[Sampler, dict[str, Any]]:
        """Return the sampler, and a description of its corpus for the trial's record, ready for JSON."""
        raise NotImplementedError

    def count_steps(self, request: SamplerRequest) -> int:
        """Return `steps_per_epoch` of the sampler that `make` returns, without embeddings even if the layout mines."""
        return self.make(request)[0].steps_per_epoch

    def check(self, request: SamplerRequest) -> None:
        """Raise the `UserError` that `make` would raise, but quickly and without a download."""
        raise NotImplementedError

    def sentences(self, request: SamplerRequest) -> Iterable[str]:
        """Return the training sentences in corpus order, with repetitions."""
        raise NotImplementedError

    def check_sentences(self, request: SamplerRequest) -> None:
        """Raise the `UserError` that `sentences` would raise."""

    def remarks(self, request: SamplerRequest) -> list[str]:
        """Return remarks to print before training; `check` must have passed."""
        return []
