"""The interface of encoders: four protocols, each of which extends the one before.

    Encoder            embeds sentences: for SentEval
    BaseEncoder        also has a fingerprint and can be saved: for every kind of encoder
    TrainableEncoder   also embeds with gradient: for training
    TokenEncoder       also has token ids: for spans and masked language modelling

`trainables.testing.encoders.EncoderContract` tests any of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from trainables.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    import torch
    from torch import Tensor, nn
    from transformers import PreTrainedTokenizerBase


E = TypeVar("E", bound="Encoder")


class Encoder(Protocol):
    """The interface of an encoder that is evaluated: it maps sentences to vectors."""

    @property
    def dim(self) -> int:
        """The size of an embedding."""

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:
        """Return float32 embeddings, (sentences, dim), in the order of the sentences; (0, dim) for no sentences.

        The same sentences give the same embeddings: nothing is random, even if a module is in training mode. A
        transformer computes in its evaluation precision. `progress` shows a bar on the console.
        """


def for_documents(encoder: E) -> E | None:
    """Return the encoder that puts the document prompt before texts; None: `encoder` also encodes documents."""
    documents: E | None = getattr(encoder, "for_documents", None)
    return documents


class BaseEncoder(Encoder, Protocol):
    """Every kind of encoder: a store can cache its embeddings, and an adapter can be trained on it.

    The optional attribute `fresh: tuple[str, ...]` names the newly initialised parameters, for records.
    """

    @property
    def device(self) -> torch.device:
        """The device of the encoder and of an adapter on top of it."""

    @property
    def unsavable(self) -> str | None:
        """Why sentence-transformers' own modules cannot give the embeddings, in a sentence; None if they can."""

    def fingerprint(self) -> str:
        """Return sixteen hexadecimal digits of everything that decides an embedding.

        Two encoders with the same digits give equal embeddings. The digits cover class, weights, the model's
        configuration, the whole tokenizer (normaliser and longest input included), pooling, padding, layers and
        precision. See `trainables.encoders.fingerprint.digest`.
        """

    def save(self, folder: Path) -> None:
        """Replace `folder` by a model of stock modules that `SentenceTransformer(folder)` loads, with equal embeddings.

        They have length one if the model that the encoder started from normalises. Raises `UserError` if it is
        `unsavable`.
        """


class TrainableEncoder(BaseEncoder, Protocol):
    """The interface for training. The encoder is a `torch.nn.Module` too, so that an optimiser finds its parameters."""

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return each sentence as numbers for `embed`: token ids, special tokens included, cut at the longest input.

        An encoder with `prompts` puts the query prompt before each sentence, or the prompt in a second argument.
        """

    def embed(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        """Return embeddings of tokenized sentences, (sentences, dim), float32, with gradient, in the same order.

        Computed in training precision. Without dropout they equal those of `encode`, up to precision and padding.
        """

    def passes(self, lengths: Sequence[int], most: int | None = None) -> list[list[int]]:
        """Return the indices of sentences in each pass of `embed`. `lengths` are the numbers of tokens from `tokenize`.
        A pass has at most `most` tokens (None: as many as the device handles well), but at least one sentence.

        `embed` of one pass's sentences, in that order, is one pass with the same random draws. Memory is freed between
        passes, so a batch of any size can be embedded pass by pass.
        """

    def parameters(self, recurse: bool = True) -> Iterator[nn.Parameter]:
        """The parameters that training may change, without those of a frozen base."""

    def state_dict(self) -> dict[str, Tensor]:
        """The encoder's tensors by name, for a checkpoint."""

    def load_state_dict(self, state_dict: Mapping[str, Tensor]) -> object:
        """Load a checkpoint's tensors."""

    def train(self, mode: bool = True) -> object:
        """Turn dropout on (True) or off."""


class TokenEncoder(TrainableEncoder, Protocol):
    """The interface for the layout `spans` and masked language modelling: also gives token ids."""

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The tokenizer, an object of the library transformers."""

    @property
    def max_length(self) -> int:
        """The longest input in tokens, special tokens included."""

    @property
    def specials(self) -> int:
        """Number of special tokens that `wrap` adds."""

    def wrap(self, ids: Sequence[int]) -> list[int]:
        """Return a span's token ids with the special tokens around them; nothing is cut."""

    @property
    def mlm_head(self) -> nn.Module | None:
        """The `MLMHead` for masked language modelling; None if `load_encoder` was called without `masked_lm`."""


def trainable(encoder: Encoder) -> TrainableEncoder:
    """Return the encoder as a `TrainableEncoder`; raise `UserError` if it can only be evaluated."""
    _need(encoder, TrainableEncoder, "can only be evaluated; train an adapter on it (encoder.adapter=mlp)")
    return cast(TrainableEncoder, encoder)


def as_token_encoder(encoder: Encoder) -> TokenEncoder:
    """Return the encoder as a `TokenEncoder`; raise `UserError` if it has no token ids."""
    _need(encoder, TokenEncoder, "has no tokens of its own, which spans and masked language modelling need")
    return cast(TokenEncoder, encoder)


def check_savable(encoder: BaseEncoder) -> None:
    """Raise `UserError` if stock modules cannot give the encoder's embeddings."""
    if encoder.unsavable:
        raise UserError(f"the model cannot be saved: {encoder.unsavable}")


def _need(encoder: Encoder, protocol: type, otherwise: str) -> None:
    if any(not hasattr(encoder, member) for member in members(protocol)):
        raise UserError(f"an encoder of the class {type(encoder).__name__} {otherwise}")


def members(protocol: type) -> list[str]:
    """Return the public names that a protocol of this module requires."""
    return [name for name in dir(protocol) if not name.startswith("_")]
