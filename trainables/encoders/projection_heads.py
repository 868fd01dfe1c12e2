"""Projection heads as modules: (sentences, dim) to (sentences, out)."""

from __future__ import annotations

from torch import nn

from trainables.encoders.projection import PROJECTIONS
from trainables.recipe import HeadConfig
from trainables.registry import load


def none(dim: int, out: int) -> nn.Module:
    """The embedding itself."""
    return nn.Identity()


def linear(dim: int, out: int) -> nn.Module:
    return nn.Linear(dim, out)


def mlp(dim: int, out: int) -> nn.Module:
    """Two layers with a ReLU between (Giorgi 2020, supplement 6.1): its "~100,000 to ~1,000,000" parameters, for
    outputs from 128 on, are those of a hidden layer as wide as the output."""
    return nn.Sequential(nn.Linear(dim, out), nn.ReLU(), nn.Linear(out, out))


def build_projection(config: HeadConfig, dim: int) -> nn.Module:
    """(sentences, dim) to (sentences, projected_size(config, dim))."""
    module: nn.Module = load(PROJECTIONS[config.kind].build)(dim, projected_size(config, dim))
    return module


def projected_size(config: HeadConfig, dim: int) -> int:
    """The size of what the projection gives, for embeddings of size `dim`."""
    return dim if PROJECTIONS[config.kind].keeps_size else config.dim or dim
