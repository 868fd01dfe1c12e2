"""What a layout is told of a trial, so that it can make the trial's batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from trainables.corpora.augment import NONE, Augmentation
from trainables.errors import UserError


class SpanEncoder(Protocol):
    """What a layout of tokens must know of an encoder."""

    @property
    def tokenizer(self) -> Any:
        """A Hugging Face tokenizer."""

    @property
    def max_length(self) -> int:
        """The longest input in tokens, special tokens included."""

    @property
    def specials(self) -> int:
        """How many tokens `wrap` adds."""

    def wrap(self, ids: Sequence[int]) -> list[int]:
        """A span with special tokens around it."""


@dataclass(frozen=True)
class SamplerRequest:
    """What a layout needs to know of a recipe beside its own keys."""

    batch_size: int
    """Of the global batch, in what the layout counts."""
    seed: int
    positives: int | None
    """P, the positives that each anchor of the layout `groups` gets; None takes all of its own."""
    negatives: int | None
    """Q, the hard negatives likewise."""
    max_length: int | None
    """Tokens that the encoder takes, as the recipe says; None: as many as the model says."""
    encoder: SpanEncoder | None = None
    """The encoder that will be trained, for layouts that draw tokens; None for others, and in a check."""
    embed: Callable[[Sequence[str]], np.ndarray] | None = None
    """Of the encoder that mines, for layouts that mine negatives: texts to (texts, dim). None for others, and in a
    check."""
    augmentation: Augmentation = NONE
    """How the layout `groups` makes missing positives."""
    apart: bool = False
    """Whether pairs or groups that share a text stand in different batches."""
    taught: bool = False
    """Whether what a teacher says of an anchor's texts must stand in the data, for that is what is learned."""


def check_batch_size(size: int, units: int, where: str, has: str, remedy: str = "take a smaller batch") -> None:
    """Refuse a batch of more units than there are; `has` says in words how many that is."""
    if size > units:
        raise UserError(f"optimisation.batch_size={size} is more than {where} has: {has}; {remedy}")
