"""Projection heads between the sentence embedding and the contrastive objective; dropped at test time."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from trainables.recipe import HeadConfig

HEADS: dict[str, Callable[[int, int], nn.Module]] = {
    "none": lambda dim, out: nn.Identity(),
    "linear": lambda dim, out: nn.Linear(dim, out),
    "mlp": lambda dim, out: nn.Sequential(nn.Linear(dim, out), nn.ReLU(), nn.Linear(out, out)),
}
"""From the embedding's size to the output's. The two-layer head is Giorgi 2020's, supplement 6.1: its "~100,000 to
~1,000,000" parameters, for outputs from 128 on, are those of a hidden layer as wide as the output."""


def build_projection(config: HeadConfig, dim: int) -> nn.Module:
    """(sentences, dim) to (sentences, config.dim or dim)."""
    return HEADS[config.kind](dim, config.dim or dim)
