"""The projection heads between the sentence embedding and the contrastive objective; dropped at test time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainables.registry import Registry


@dataclass(frozen=True)
class Projection:
    """An entry of `PROJECTIONS`."""

    name: str
    build: Any
    """From the embedding's size and the output's to a module; or `"module:function"`."""


PROJECTIONS = Registry(
    "projection head",
    Projection("none", "trainables.encoders.project:none"),
    Projection("linear", "trainables.encoders.project:linear"),
    Projection("mlp", "trainables.encoders.project:mlp"),
)
"""The values of `head.kind`."""
