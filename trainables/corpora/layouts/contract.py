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
    """Whether it draws tokens, and needs the request's encoder for that."""
    has_sentences: ClassVar[bool] = True
    """Whether it has `sentences`."""
    positives_at_most: ClassVar[int | None] = None
    """Most positives of an anchor that a batch has; None for any number."""
    hard_negatives: ClassVar[bool] = True
    """Whether a batch has hard negatives."""
    exact: ClassVar[bool] = False
    """Whether every anchor has exactly P positives and Q hard negatives, so that an objective draws none."""
    taught: ClassVar[bool] = False
    """Whether a batch has a teacher's scores where its data have them."""
    keeps_apart: ClassVar[bool] = False
    """Whether it can keep texts that are equal out of one batch (`SamplerRequest.apart`)."""
    stacks: ClassVar[bool] = False
    """Whether trials on it can train as a population: each entailed pair is a group."""
    classes: ClassVar[bool] = False
    """Whether a group is a class, with further texts outside the batch."""
    objectives: ClassVar[tuple[str, ...]] = ()
    """Objectives for it, beside those that name this layout."""
    released: ClassVar[Mapping[str, Value]] = {}
    """Keys that `objective.fidelity=released` sets, where the authors' code differs from the paper."""

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
        """Whether it mines hard negatives, and needs the request's embeddings."""
        return False

    @property
    def miner(self) -> EncoderConfig | None:
        """The frozen encoder that mines; None: the trained one, before its first step."""
        return None

    def make(self, request: SamplerRequest) -> tuple[Sampler, dict[str, Any]]:
        """The batches, and a description of their corpus for the trial's record, ready for JSON."""
        raise NotImplementedError

    def count_steps(self, request: SamplerRequest) -> int:
        """Batches of one pass of `make`'s sampler, without embeddings of a layout that mines."""
        return self.make(request)[0].steps_per_epoch

    def check(self, request: SamplerRequest) -> None:
        """`UserError` where `make` would raise one; fast, and without a download."""
        raise NotImplementedError

    def sentences(self, request: SamplerRequest) -> Iterable[str]:
        """The training sentences in corpus order, repeated ones too."""
        raise NotImplementedError

    def check_sentences(self, request: SamplerRequest) -> None:
        """`UserError` where `sentences` would raise one."""

    def remarks(self, request: SamplerRequest) -> list[str]:
        """Sentences for a person, before training and after `check`."""
        return []
