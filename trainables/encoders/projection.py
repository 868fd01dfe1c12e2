"""The projection heads between the sentence embedding and the contrastive objective; dropped at test time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainables.registry import Registry

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Projection:
    """An entry of `PROJECTIONS`."""

    name: str
    build: Callable[[int, int], nn.Module] | str
    """From the embedding's size and the output's to a module, (sentences, dim) to (sentences, out); or
    `"module:function"`."""
    keeps_size: bool = False
    """Whether the output has the embedding's size, whatever `head.dim` says."""
    stacks: bool = False
    """Whether it is made of linear layers with biases and ReLUs alone, so that members of a population can train it
    together."""


PROJECTIONS = Registry(
    "projection head",
    Projection("none", "trainables.encoders.projection_heads:none", keeps_size=True, stacks=True),
    Projection("linear", "trainables.encoders.projection_heads:linear", stacks=True),
    Projection("mlp", "trainables.encoders.projection_heads:mlp", stacks=True),
)
"""The values of `head.kind`."""
