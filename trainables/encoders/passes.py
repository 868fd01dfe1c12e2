"""Tokens through a transformer: passes with little padding, and the states that come out."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# One forward pass holds at most so many tokens, padding included.
TOKENS_PER_PASS = {"cpu": 4096, "cuda": 65536}


def autocast(device: torch.device, precision: torch.dtype) -> contextlib.AbstractContextManager[object]:
    """Inside, matrix products are computed in `precision`."""
    return contextlib.nullcontext() if precision == torch.float32 else torch.autocast(device.type, dtype=precision)


def token_states(
    backbone: PreTrainedModel, tokens: Sequence[Sequence[int]], filler: int, every_layer: bool = False
) -> tuple[tuple[Tensor, ...], Tensor]:
    """Token states of one padded pass, and the mask of real tokens, (sentences, tokens); for use inside `autocast`.

    The states are those of the last layer, or with `every_layer` of the embeddings and all layers, each (sentences,
    tokens, dim).
    """
    device = next(backbone.parameters()).device
    ids = padded(tokens, filler).to(device)
    mask = padded([[1] * len(row) for row in tokens], 0).to(device)
    output = backbone(input_ids=ids, attention_mask=mask, output_hidden_states=every_layer)
    states = output.hidden_states if every_layer else (output.last_hidden_state,)
    # bf16 states are summed in fp32: a mean over many tokens loses digits otherwise.
    return tuple(state.float() if state.dtype == torch.bfloat16 else state for state in states), mask


def padded(rows: Sequence[Sequence[int]], filler: int) -> Tensor:  # (rows, longest) int64
    """Rows of numbers as one tensor, the short ones filled up."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows])


def length_buckets(lengths: Sequence[int], tokens_per_pass: int) -> list[list[int]]:
    """Indices longest first, cut into passes that hold few padding tokens and at most `tokens_per_pass` in all.

    A pass ends where the next sentence is shorter than three quarters of its longest one, unless the pass is
    still so small that one more would cost more than the padding.
    """
    buckets: list[list[int]] = []
    longest = 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        current = buckets[-1] if buckets else []
        full = (len(current) + 1) * longest > tokens_per_pass
        wasteful = lengths[index] < 0.75 * longest and len(current) * longest >= tokens_per_pass // 8
        if not current or full or wasteful:
            buckets.append([index])
            longest = lengths[index]
        else:
            current.append(index)
    return buckets
