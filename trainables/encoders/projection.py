"""The projection heads between the sentence embedding and the contrastive objective; dropped at test time. To add one,
write a subclass of `Projection`, whose fields are its keys, and add it here or in a plugin file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trainables.keys import Options, at_least, key
from trainables.lazy_torch import torch
from trainables.registry import Registry

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Projection(Options):
    """An entry of `PROJECTIONS`. Its fields are its keys. Importing it is light: PyTorch comes from
    `trainables.lazy_torch`."""

    section = "head"

    name: ClassVar[str]
    fits_population: ClassVar[bool] = False
    """Whether the head has only linear layers with biases and ReLUs, so that members of a population can train it
    together."""

    def size(self, dim: int) -> int:
        """Return the output size for embeddings of size `dim`."""
        return dim

    def build(self, dim: int) -> nn.Module:
        """Return the head: a module that maps (sentences, dim) to (sentences, `size(dim)`)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Identity(Projection):
    """The embedding itself."""

    name = "none"
    meaning = "the embedding itself"
    fits_population = True

    def build(self, dim: int) -> nn.Module:
        return torch.nn.Identity()


@dataclass(frozen=True)
class Sized(Projection):
    """A head whose output size is a key."""

    dim: int | None = key(
        None,
        "Output size of the projection head; none keeps the encoder's.",
        at_least(1),
        together=True,
        label="output size of the projection head",
        search=(64, 128, 256, 512),
    )

    def size(self, dim: int) -> int:
        return self.dim or dim


@dataclass(frozen=True)
class Linear(Sized):
    """One linear layer."""

    name = "linear"
    meaning = "one layer"
    fits_population = True

    def build(self, dim: int) -> nn.Module:
        return torch.nn.Linear(dim, self.size(dim))


@dataclass(frozen=True)
class MLP(Sized):
    """Two layers with a ReLU between (Giorgi 2020, supplement 6.1). The hidden layer is as wide as the output, which
    gives the paper's "~100,000 to ~1,000,000" parameters for outputs from 128 on."""

    name = "mlp"
    meaning = "two layers with a ReLU between"
    fits_population = True

    def build(self, dim: int) -> nn.Module:
        nn, out = torch.nn, self.size(dim)
        return nn.Sequential(nn.Linear(dim, out), nn.ReLU(), nn.Linear(out, out))


PROJECTIONS: Registry[type[Projection]] = Registry("projection head", Identity, Linear, MLP)
"""The values of `head.kind`."""
