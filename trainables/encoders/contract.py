"""What an encoder offers. Four protocols, each with all of the one before:

    Encoder            sentences in, embeddings out: what SentEval asks
    BaseEncoder        also says what decides its embeddings, and can be saved: what every kind of encoder gives
    TrainableEncoder   also embeds with gradient: what training asks
    TokenEncoder       also works on tokens of its own: what spans and masked language modelling ask

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
    """What evaluation asks of an encoder."""

    @property
    def dim(self) -> int:
        """The size of an embedding."""

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:
        """Float32 embeddings, (sentences, dim), in the order of the sentences; (0, dim) for none.

        The same sentences give the same embeddings: nothing is drawn at random, whatever the mode of a module.
        A transformer computes in its evaluation precision. `progress` shows a bar on the console.
        """


def for_documents(encoder: E) -> E | None:
    """The encoder for the documents of a search, with their prompt; None: the encoder itself."""
    documents: E | None = getattr(encoder, "for_documents", None)
    return documents


class BaseEncoder(Encoder, Protocol):
    """Every kind of encoder: a store can cache its embeddings, and an adapter can be trained on it.

    `fresh: tuple[str, ...]`, where it has that, names parameters that were drawn and not loaded; records have them.
    """

    @property
    def device(self) -> torch.device:
        """Where it computes, and where an adapter on top of it does."""

    @property
    def unsavable(self) -> str | None:
        """Why sentence-transformers' own modules cannot give its embeddings, in a sentence; None where they can."""

    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits of everything that decides an embedding.

        Two encoders with the same digits give equal embeddings. It covers class, weights, the model's configuration,
        the whole tokenizer (normaliser and longest input included), pooling, padding, layers and precision.
        See `trainables.encoders.fingerprint.digest`.
        """

    def save(self, folder: Path) -> None:
        """Replace `folder` by a model of stock modules that `SentenceTransformer(folder)` loads, with equal embeddings.

        Their length is one where the model that it was started from had a norm. Raises `UserError` with `unsavable`.
        """


class TrainableEncoder(BaseEncoder, Protocol):
    """What training asks of an encoder. It is a `torch.nn.Module` too, so that an optimiser finds its parameters."""

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        """Each sentence as numbers that `embed` takes: token ids, special tokens included, cut at the longest input.

        One that has `prompts` puts the query's before them, or another that is given as a second argument.
        """

    def embed(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        """Embeddings of tokenized sentences, (sentences, dim), float32, with gradient, in their order.

        Computed in training precision. Without dropout they are those of `encode`, but for precision and padding.
        """

    def passes(self, lengths: Sequence[int], most: int | None = None) -> list[list[int]]:
        """Indices of sentences, by how many numbers `tokenize` made of each, in the passes in which `embed` works: at
        most `most` numbers in each (None: as many as the device works on well at once), but at least one sentence.

        `embed` of the sentences of one pass, in its order, is one pass with the same random draws. Whatever is between
        two passes is freed, so a batch of any size can be embedded pass by pass.
        """

    def parameters(self, recurse: bool = True) -> Iterator[nn.Parameter]:
        """All that training may change; a frozen base is not among it."""

    def state_dict(self) -> dict[str, Tensor]:
        """Its tensors by name, for a checkpoint."""

    def load_state_dict(self, state_dict: Mapping[str, Tensor]) -> object:
        """Take a checkpoint's tensors back."""

    def train(self, mode: bool = True) -> object:
        """With dropout (True) or without."""


class TokenEncoder(TrainableEncoder, Protocol):
    """What the layout `spans` and masked language modelling ask besides: token ids of its own."""

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The tokenizer, as transformers has it."""

    @property
    def max_length(self) -> int:
        """The longest input in tokens, special tokens included."""

    @property
    def specials(self) -> int:
        """How many special tokens `wrap` adds."""

    def wrap(self, ids: Sequence[int]) -> list[int]:
        """A span's token ids with the special tokens around them; nothing is cut."""

    @property
    def mlm_head(self) -> nn.Module | None:
        """The head for masked language modelling, an `MLMHead`; None where `load_encoder` was not asked for one."""


def trainable(encoder: Encoder) -> TrainableEncoder:
    """The encoder, where training can have it; `UserError` where it can only be evaluated."""
    _need(encoder, TrainableEncoder, "can only be evaluated; train an adapter on it (encoder.adapter=mlp)")
    return cast(TrainableEncoder, encoder)


def on_tokens(encoder: Encoder) -> TokenEncoder:
    """The encoder, where it has tokens of its own; `UserError` where it has not."""
    _need(encoder, TokenEncoder, "has no tokens of its own, which spans and masked language modelling need")
    return cast(TokenEncoder, encoder)


def check_savable(encoder: BaseEncoder) -> None:
    """`UserError` where it says why stock modules cannot give its embeddings."""
    if encoder.unsavable:
        raise UserError(f"the model cannot be saved: {encoder.unsavable}")


def _need(encoder: Encoder, protocol: type, otherwise: str) -> None:
    if any(not hasattr(encoder, member) for member in members(protocol)):
        raise UserError(f"an encoder of the class {type(encoder).__name__} {otherwise}")


def members(protocol: type) -> list[str]:
    """The names that a protocol of this module asks for."""
    return [name for name in dir(protocol) if not name.startswith("_")]
