"""What a layout of a corpus is: from a recipe's keys to the batches of a training."""

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
    """An entry of `LAYOUTS`. Its fields are its keys."""

    section = "corpus"

    name: ClassVar[str]
    reads: ClassVar[str]
    """The recipe key that names the data it reads."""
    tokens: ClassVar[bool] = False
    """Whether it draws tokens, so that the request holds an encoder that has tokens of its own."""
    has_sentences: ClassVar[bool] = True
    """Whether its corpus is of sentences, so that `sentences` gives them."""
    positives_at_most: ClassVar[int | None] = None
    """Most positives of an anchor that a batch has; None for any number."""
    hard_negatives: ClassVar[bool] = True
    """Whether a batch has hard negatives."""
    exact: ClassVar[bool] = False
    """Whether every anchor has exactly P positives and Q hard negatives, so that an objective draws none."""
    taught: ClassVar[bool] = False
    """Whether a batch has what a teacher says of an anchor's texts where its data hold it."""
    keeps_apart: ClassVar[bool] = False
    """Whether it can keep texts that are equal out of one batch (`SamplerRequest.apart`)."""
    stacks: ClassVar[bool] = False
    """Whether many trials on it can train as a population: its batches are entailed pairs, each a group of its own."""
    classes: ClassVar[bool] = False
    """Whether a group is a class, which has more texts than those of the batch."""
    objectives: ClassVar[tuple[str, ...]] = ()
    """Objectives that can learn from it, beside those that name it themselves."""
    released: ClassVar[Mapping[str, Value]] = {}
    """What `objective.fidelity=released` sets: where the authors' code does something else than the paper's text."""

    @property
    def parts(self) -> tuple[type[Layout], ...]:
        """The layouts that its batches are of; an objective must fit each."""
        return (type(self),)

    @property
    def anchors_each(self) -> int:
        """How many anchors each unit of a batch has."""
        return 1

    @property
    def mines(self) -> bool:
        """Whether it finds hard negatives by embeddings, so that the request brings them."""
        return False

    @property
    def miner(self) -> EncoderConfig | None:
        """The frozen encoder that gives these embeddings; None: the one that is trained, as it starts."""
        return None

    def make(self, request: SamplerRequest) -> tuple[Sampler, dict[str, Any]]:
        """The batches, and what their corpus is: a description for the trial's record, ready for JSON."""
        raise NotImplementedError

    def count_steps(self, request: SamplerRequest) -> int:
        """Batches of one pass, as `make`'s sampler has; the request of a layout that mines needs no embeddings."""
        return self.make(request)[0].steps_per_epoch

    def check(self, request: SamplerRequest) -> None:
        """Refuse, by `UserError`, what `make` would: fast, and without a download."""
        raise NotImplementedError

    def sentences(self, request: SamplerRequest) -> Iterable[str]:
        """The training sentences in corpus order, repeated ones too."""
        raise NotImplementedError

    def check_sentences(self, request: SamplerRequest) -> None:
        """Refuse what `sentences` would, as `check` does."""

    def remarks(self, request: SamplerRequest) -> list[str]:
        """Sentences that a person should read before the corpus is trained on; asked after `check`."""
        return []
