"""The kinds of encoders: a row each. To add one: a class that is a `TrainableEncoder` or an `Encoder`, and a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainables.registry import Registry


@dataclass(frozen=True)
class EncoderKind:
    """An entry of `ENCODERS`."""

    name: str
    loader: Any
    """From the recipe's sections to an encoder; or `"module:function"`."""
    trainable: bool
    """Whether training changes its weights; of the others only an adapter on top can be trained."""


ENCODERS = Registry(
    "kind of encoder",
    EncoderKind("transformer", "trainables.encoders.transformer:load", trainable=True),
    EncoderKind("word_vectors", "trainables.encoders.word_vectors:load", trainable=False),
    EncoderKind("pipeline", "trainables.encoders.pipeline:load", trainable=False),
)
"""The values of `encoder.kind`."""
