"""The poolings: how token states become one vector. The functions are in `trainables/encoders/pool.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainables.registry import Registry


@dataclass(frozen=True)
class Pooling:
    """An entry of `POOLINGS`."""

    name: str
    function: Any
    """From the states of every layer, (layers + 1) x (sentences, tokens, dim), and the mask of real tokens, (sentences,
    tokens), to (sentences, dim); or `"module:function"`."""
    every_layer: bool = False
    """Whether it looks at other layers than the last; if not, only the last one's states are handed to it."""
    needs_cls: bool = False
    """Whether the first token must be [CLS]."""


POOLINGS = Registry(
    "pooling",
    Pooling("mean", "trainables.encoders.pool:mean"),
    Pooling("mean_without_cls", "trainables.encoders.pool:mean_without_cls", needs_cls=True),
    Pooling("cls", "trainables.encoders.pool:cls"),
    Pooling("max", "trainables.encoders.pool:maximum"),
    Pooling("first_last_mean", "trainables.encoders.pool:first_last_mean", every_layer=True),
)
"""The values of `pooling.mode`."""
