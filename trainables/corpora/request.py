"""A trial's request for batches, beside the layout's own keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from trainables.corpora.augment import NONE, Augmentation
from trainables.errors import UnsuitedError


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
    """What a layout needs of a recipe beside its own keys."""

    batch_size: int
    """Units of the global batch."""
    seed: int
    positives: int | None
    """P, the positives that each anchor of the layout `groups` gets; None takes all of its own."""
    negatives: int | None
    """Q, the hard negatives likewise."""
    max_length: int | None
    """Most tokens of an input, by the recipe; None: the model's."""
    encoder: SpanEncoder | None = None
    """The trained encoder, for layouts that draw tokens; None for others, and in a check."""
    embed: Callable[[Sequence[str]], np.ndarray] | None = None
    """Texts to (texts, dim), for layouts that mine negatives; None for others, and in a check."""
    augmentation: Augmentation = NONE
    """How the layout `groups` makes missing positives."""
    apart: bool = False
    """Whether pairs or groups that share a text must be in different batches."""
    taught: bool = False
    """Whether the data must have a teacher's scores, which are learned."""


def check_batch_size(size: int, units: int, where: str, has: str, remedy: str = "take a smaller batch") -> None:
    """`UnsuitedError` for a batch of more units than `where` has; `has` is that number in words."""
    if size > units:
        raise UnsuitedError(f"optimisation.batch_size={size} is more than {where} has: {has}; {remedy}")
