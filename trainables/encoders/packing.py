"""Where sentences lie in a packed row, and how their tokens look at each other."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, groupby

import numpy as np
import torch
from torch import Tensor

from trainables.to_device import to_device

TILES = (64, 128)
"""Tokens of a tile."""


@dataclass(frozen=True, eq=False)
class Tiles:
    """A row cut into pieces of whole neighbouring sentences, each of at most so many tokens."""

    tokens: int
    begins: Tensor  # (tiles + 1,) int32, the first token of each, and the row's end; on the device
    sentence: Tensor  # (tokens,) int32, the number of each token's sentence; on the device

    @classmethod
    def of(cls, lengths: Sequence[int], tokens: int, device: torch.device) -> Tiles:
        begins, end = [0], 0
        for length in lengths:
            if end + length - begins[-1] > tokens:
                begins.append(end)
            end += length
        sentence = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        parts = np.array([*begins, end], dtype=np.int32), sentence
        return cls(tokens, *(to_device(torch.from_numpy(part), device) for part in parts))


@dataclass(frozen=True, eq=False)
class Packing:
    """Where sentences lie in a packed row. All of it is computed on the CPU, so that a device is not waited for."""

    lengths: tuple[int, ...]
    """Of the sentences, in tokens; then those of the filling."""
    sentences: int
    """Without the filling."""
    longest: int
    """In tokens."""
    offsets: Tensor  # (all sentences + 1,) int32, where each begins, and the row's end; on the device
    tiles: Tiles | None
    """On a GPU, where no sentence is longer than the largest tile."""

    @classmethod
    def of(cls, lengths: Sequence[int], device: torch.device, *, rounded: bool = False) -> Packing:
        """`rounded`: sentences of filling, none longer than the others, make the row as long as `few_sizes` says."""
        fill, longest = few_sizes(sum(lengths)) - sum(lengths) if rounded else 0, max(lengths)
        filling = [longest] * (fill // longest) + [fill % longest] * (fill % longest > 0)
        row = (*lengths, *filling)
        offsets = torch.from_numpy(np.cumsum([0, *row], dtype=np.int32))
        tile = next((tile for tile in TILES if longest <= tile), None) if device.type == "cuda" else None
        tiles = None if tile is None else Tiles.of(row, tile, device)
        return cls(row, len(lengths), longest, to_device(offsets, device), tiles)

    @functools.cached_property
    def runs(self) -> list[tuple[int, int]]:
        """Neighbours of one length: (how many, their length)."""
        return [(len(list(same)), length) for length, same in groupby(self.lengths)]

    def by_run(self, row: Tensor) -> list[Tensor]:
        """A row, (heads, tokens, size), as its runs, (heads, sentences, length, size): views, to read or to fill."""
        parts = row.split([count * length for count, length in self.runs], dim=1)
        return [part.unflatten(1, run) for part, run in zip(parts, self.runs, strict=True)]

    def ids(self, rows: Sequence[Sequence[int]], filler: int) -> Tensor:  # (1, tokens) int64
        """The sentences' tokens, one sentence after the other; `filler` is the token of the filling."""
        row = np.full((1, sum(self.lengths)), filler, dtype=np.int64)
        real = sum(map(len, rows))
        row[0, :real] = np.fromiter(chain.from_iterable(rows), np.int64, real)
        return torch.from_numpy(row)

    def positions(self, first: int) -> Tensor:  # (1, tokens) int64
        """Of each token in its sentence, counted from `first`."""
        begins = np.cumsum([0, *self.lengths[:-1]])
        return torch.from_numpy(np.arange(first, first + sum(self.lengths)) - np.repeat(begins, self.lengths))[None]


@dataclass(frozen=True)
class Looks:
    """How a token looks at the others of its sentence."""

    dropout: float = 0.0
    causal: bool = False
    """Not at later ones."""
    window: int | None = None
    """Only at those that are fewer tokens away; None: at all, also where no sentence is longer than a window."""
    scaling: float | None = None
    """Of the scores; None: the root of a head's size divides them."""

    def mask(self, length: int, device: torch.device) -> Tensor | None:  # (length, length)
        """Which tokens a token of a sentence looks at; None: all."""
        if not self.causal and (self.window is None or length <= self.window):
            return None
        place = torch.arange(length, device=device)
        ahead = place - place.unsqueeze(1)  # of the token that is looked at
        everywhere = torch.ones(length, length, dtype=torch.bool, device=device)
        near = everywhere if self.window is None else ahead.abs() < self.window
        return near & (ahead <= 0) if self.causal else near


def spread(states: Sequence[Tensor], lengths: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
    """States of a row, (tokens, dim) each, as (sentences, longest, dim), 0 where a sentence has ended; and the mask of
    real tokens, (sentences, longest). lengths: (sentences,), on the CPU."""
    mask, places = _spaces(lengths, states[-1].device)
    empty = (state.new_zeros(mask.numel(), state.shape[1]) for state in states)
    rows = (into.index_copy(0, places, state) for into, state in zip(empty, states, strict=True))
    return tuple(row.view(*mask.shape, -1) for row in rows), to_device(mask, states[-1].device)


def joined(states: Sequence[Tensor], lengths: Tensor) -> tuple[Tensor, ...]:
    """The reverse: without padding, which stands on the right."""
    _, places = _spaces(lengths, states[-1].device)
    return tuple(state.flatten(0, 1)[places] for state in states)


def _spaces(lengths: Tensor, device: torch.device) -> tuple[Tensor, Tensor]:
    """The mask of real tokens, (sentences, longest), on the CPU, and where they stand in it, (tokens,)."""
    mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(1)
    return mask, to_device(mask.view(-1).nonzero().squeeze(1), device)


def few_sizes(tokens: int) -> int:
    """The next number of tokens at which a row may end: a multiple of an eighth of the power of two below, and of 64.

    Kernels that are made for one size of row (`torch.compile`, CUDA graphs, the choice of a matrix product) then meet
    few: eight for each doubling. On average a row grows by a twenty-fourth, at most by an eighth.
    """
    step = max(64, 2 ** (tokens.bit_length() - 4))
    return -(-tokens // step) * step
