"""Pooling: token states to one vector. `trainables/encoders/pooling.py` registers these functions."""

from __future__ import annotations

import torch
from torch import Tensor

# Each takes the states of every layer, (layers + 1) x (sentences, tokens, dim), or of the last alone, and the mask of
# real tokens, (sentences, tokens), and gives (sentences, dim).


def mean(states: tuple[Tensor, ...], mask: Tensor) -> Tensor:
    """Mean over all real tokens."""
    return _masked_mean(states[-1], mask)


def mean_without_cls(states: tuple[Tensor, ...], mask: Tensor) -> Tensor:
    """Mean over the real tokens but the first, [CLS] (Liao 2021, section 3)."""
    return _masked_mean(states[-1][:, 1:], mask[:, 1:])


def cls(states: tuple[Tensor, ...], mask: Tensor) -> Tensor:
    """The state of the first token."""
    return states[-1][:, 0]


def maximum(states: tuple[Tensor, ...], mask: Tensor) -> Tensor:
    """The largest value over the real tokens, in each dimension."""
    return states[-1].masked_fill(~mask.bool().unsqueeze(-1), float("-inf")).amax(dim=1)


def last(states: tuple[Tensor, ...], mask: Tensor) -> Tensor:
    """The state of the last real token, the one that has seen all others in a decoder; padding may stand on either
    side."""
    place = mask.shape[1] - 1 - mask.int().flip(1).argmax(dim=1)  # of several largest, argmax gives the first
    return states[-1][torch.arange(len(place), device=place.device), place]


def first_last_mean(states: tuple[Tensor, ...], mask: Tensor) -> Tensor:
    """Mean over the real tokens of the average of the first layer's and the last layer's output."""
    return _masked_mean((states[1] + states[-1]) / 2, mask)


def padded_mean_without_cls(states: tuple[Tensor, ...], mask: Tensor) -> Tensor:
    """What Liao's released code does at inference: padding is averaged in, so a batch changes its sentences."""
    return states[-1][:, 1:].mean(dim=1)


def _masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    weights = mask.unsqueeze(-1).to(states.dtype)  # (sentences, tokens, 1)
    return (states * weights).sum(dim=1) / torch.clamp(weights.sum(dim=1), min=1)
