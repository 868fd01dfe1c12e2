"""The positions of sentences in a packed row, and the tokens to which a token attends."""

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
"""Possible sizes of a tile, in tokens."""


@dataclass(frozen=True, eq=False)
class Tiles:
    """A row cut into tiles of whole neighbouring sentences, each of at most `tokens` tokens."""

    tokens: int
    begins: Tensor  # (tiles + 1,) int32, the first token of each tile, and the row's end; on the device
    sentence: Tensor  # (tokens,) int32, the number of each token's sentence; on the device

    @classmethod
    def cut(cls, lengths: Sequence[int], tokens: int, device: torch.device) -> Tiles:
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
    """The positions of sentences in a packed row. They are computed on the CPU, so that nothing waits for the
    device."""

    lengths: tuple[int, ...]
    """Lengths of the sentences in tokens, then those of the padding sentences."""
    real_sentences: int
    """Number of sentences, without the padding ones."""
    longest: int
    """Length of the longest sentence, in tokens."""
    offsets: Tensor  # (all sentences + 1,) int32, the start of each, and the row's end; on the device
    tiles: Tiles | None
    """The row cut into tiles, for a GPU; None on a CPU, and if a sentence is longer than the largest tile."""

    @classmethod
    def pack(cls, lengths: Sequence[int], device: torch.device, *, rounded: bool = False) -> Packing:
        """Pack sentences. `rounded`: padding sentences, no longer than the longest, fill the row up to
        `rounded_length`."""
        fill, longest = rounded_length(sum(lengths)) - sum(lengths) if rounded else 0, max(lengths)
        filling = [longest] * (fill // longest) + [fill % longest] * (fill % longest > 0)
        row = (*lengths, *filling)
        offsets = torch.from_numpy(np.cumsum([0, *row], dtype=np.int32))
        tile = next((tile for tile in TILES if longest <= tile), None) if device.type == "cuda" else None
        tiles = None if tile is None else Tiles.cut(row, tile, device)
        return cls(row, len(lengths), longest, to_device(offsets, device), tiles)

    @functools.cached_property
    def runs(self) -> list[tuple[int, int]]:
        """Runs of neighbouring sentences of equal length: (number of sentences, length in tokens)."""
        return [(len(list(same)), length) for length, same in groupby(self.lengths)]

    def by_run(self, row: Tensor) -> list[Tensor]:
        """Split a row, (heads, tokens, size), into one view for each of `runs`, (heads, sentences, length, size)."""
        parts = row.split([count * length for count, length in self.runs], dim=1)
        return [part.unflatten(1, run) for part, run in zip(parts, self.runs, strict=True)]

    def ids(self, rows: Sequence[Sequence[int]], padding_id: int) -> Tensor:  # (1, tokens) int64
        """Return all sentences' tokens in one row; `padding_id` is the token of the padding sentences."""
        row = np.full((1, sum(self.lengths)), padding_id, dtype=np.int64)
        real = sum(map(len, rows))
        row[0, :real] = np.fromiter(chain.from_iterable(rows), np.int64, real)
        return torch.from_numpy(row)

    def positions(self, first: int) -> Tensor:  # (1, tokens) int64
        """Return the position of each token in its sentence, counted from `first`."""
        begins = np.cumsum([0, *self.lengths[:-1]])
        return torch.from_numpy(np.arange(first, first + sum(self.lengths)) - np.repeat(begins, self.lengths))[None]


@dataclass(frozen=True)
class AttentionSettings:
    """Settings of attention: how a token attends to the tokens of its sentence."""

    dropout: float = 0.0
    causal: bool = False
    """Whether a token does not attend to later tokens."""
    window: int | None = None
    """A token attends only to tokens closer than this. None: to all tokens of its sentence; also set to None if no
    sentence is longer than the window."""
    scaling: float | None = None
    """Factor of the attention scores; None: one divided by the root of a head's size."""

    def mask(self, length: int, device: torch.device) -> Tensor | None:  # (length, length)
        """Return whether the token of each row attends to the token of each column; None: all tokens attend to all."""
        if not self.causal and (self.window is None or length <= self.window):
            return None
        position = torch.arange(length, device=device)
        ahead = position - position.unsqueeze(1)  # distance to the attended token
        everywhere = torch.ones(length, length, dtype=torch.bool, device=device)
        near = everywhere if self.window is None else ahead.abs() < self.window
        return near & (ahead <= 0) if self.causal else near


def pad_states(states: Sequence[Tensor], lengths: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
    """Return states of a row, (tokens, dim) each, as (sentences, longest, dim), padded with 0, and the mask of real
    tokens, (sentences, longest). lengths: (sentences,), on the CPU."""
    mask, indices = _mask_and_indices(lengths, states[-1].device)
    empty = (state.new_zeros(mask.numel(), state.shape[1]) for state in states)
    rows = (into.index_copy(0, indices, state) for into, state in zip(empty, states, strict=True))
    return tuple(row.view(*mask.shape, -1) for row in rows), to_device(mask, states[-1].device)


def unpad_states(states: Sequence[Tensor], lengths: Tensor) -> tuple[Tensor, ...]:
    """Undo `pad_states`: return the states without padding, which is on the right."""
    _, indices = _mask_and_indices(lengths, states[-1].device)
    return tuple(state.flatten(0, 1)[indices] for state in states)


def _mask_and_indices(lengths: Tensor, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the mask of real tokens, (sentences, longest), on the CPU, and their flat indices in it, (tokens,)."""
    mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(1)
    return mask, to_device(mask.view(-1).nonzero().squeeze(1), device)


def rounded_length(tokens: int) -> int:
    """Return the next length at which a row may end: a multiple of an eighth of the power of two below, and of 64.

    Kernels that are made for one size of row (`torch.compile`, CUDA graphs, the choice of a matrix product) then see
    few sizes: eight per doubling. On average a row grows by a twenty-fourth, at most by an eighth.
    """
    step = max(64, 2 ** (tokens.bit_length() - 4))
    return -(-tokens // step) * step
