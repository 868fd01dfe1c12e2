"""Settings of a recipe that a layout needs to make batches, in addition to its own keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from trainables.corpora.augment import NONE, Augmentation
from trainables.errors import UnsuitedError


class SpanEncoder(Protocol):
    """The attributes of an encoder that a layout of token spans uses."""

    @property
    def tokenizer(self) -> Any:
        """A Hugging Face tokenizer."""

    @property
    def max_length(self) -> int:
        """The longest input in tokens, special tokens included."""

    @property
    def specials(self) -> int:
        """Number of tokens that `wrap` adds."""

    def wrap(self, ids: Sequence[int]) -> list[int]:
        """Return a span with special tokens around it."""


@dataclass(frozen=True)
class SamplerRequest:
    """Settings of a recipe that a layout needs in addition to its own keys."""

    batch_size: int
    """Number of units, such as pairs or groups, in the batch of all workers together."""
    seed: int
    positives: int | None
    """P: number of positives of each anchor in the layout `groups`; None: all that the corpus has for it."""
    negatives: int | None
    """Q: number of hard negatives of each anchor; None: all that the corpus has for it."""
    max_length: int | None
    """Most tokens of an input, set by the recipe; None: the model's limit."""
    encoder: SpanEncoder | None = None
    """The encoder to train, for layouts that draw tokens; None for other layouts, and if recipes are only checked."""
    embed: Callable[[Sequence[str]], np.ndarray] | None = None
    """Maps texts to (texts, dim), for layouts that mine negatives; None as for `encoder`."""
    augmentation: Augmentation = NONE
    """How the layout `groups` makes missing positives."""
    no_duplicates: bool = False
    """Whether pairs or groups that share a text must be in different batches."""
    taught: bool = False
    """Whether the data must have a teacher's scores, from which the objective learns."""


def check_batch_size(size: int, units: int, where: str, has: str, remedy: str = "take a smaller batch") -> None:
    """Raise `UnsuitedError` if a batch of `size` units is larger than the corpus `where` of `units` units; `has` is
    the number and name of these units in words."""
    if size > units:
        raise UnsuitedError(f"optimisation.batch_size={size} is more than {where} has: {has}; {remedy}")
