"""Attention with dropout over a packed row, where no kernel of a GPU does it: run by run, a run being neighbours of one
length.

Forwards and backwards are one step of autograd each, which for sentences of a dozen tokens costs less than many small
ones. On a CPU all is computed in fp32, also where the rest is in bf16: small products are slower in 16 bits.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trainables.encoders.dropout import factors
from trainables.encoders.packing import Looks, Packing


def attend(
    query: Tensor,  # (heads, tokens, size)
    key: Tensor,
    value: Tensor,
    packing: Packing,
    looks: Looks,
) -> Tensor:  # (tokens, heads, size)
    """What the sentences of each run make of their values. Differentiable once."""
    attended: Tensor = _RunAttention.apply(query, key, value, packing, looks)
    return attended


class _RunAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, packing: Packing, looks: Looks) -> Tensor:
        heads, tokens, size = query.shape
        dtype = torch.float32 if (value.device.type, value.dtype) == ("cpu", torch.bfloat16) else value.dtype
        attended = value.new_empty(tokens, heads, size)
        ctx.scaling = looks.scaling or size**-0.5
        saved: list[Tensor] = []
        with _without_autocast(value.device):
            for *run, place in zip(*map(packing.by_run, (query, key, value, attended.transpose(0, 1))), strict=True):
                q, k, v = (_gathered(part, dtype) for part in run)
                scores = torch.baddbmm(q.new_empty(()), q, k.mT, beta=0, alpha=ctx.scaling)
                visible = looks.mask(q.shape[1], q.device)
                if visible is not None:
                    scores.masked_fill_(~visible, -torch.inf)
                weights = scores.softmax(-1)
                mask = factors(weights.shape, looks.dropout, weights.device, dtype)
                place.copy_(((weights * mask) @ v).view(place.shape))
                if any(ctx.needs_input_grad):  # else a run's numbers are let go at once
                    saved += [q, k, v, weights, mask]
        ctx.save_for_backward(*saved)
        ctx.packing, ctx.dtypes = packing, [part.dtype for part in (query, key, value)]
        return attended

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        # laid out as what a linear layer gave, whose gradient they are part of
        gradients = [gradient.new_empty(gradient.shape, dtype=dtype).transpose(0, 1) for dtype in ctx.dtypes]
        saved = iter(ctx.saved_tensors)
        with _without_autocast(gradient.device):
            for run, *places in zip(*map(ctx.packing.by_run, (gradient.transpose(0, 1), *gradients)), strict=True):
                q, k, v, weights, mask = (next(saved) for _ in range(5))
                own = _gathered(run, q.dtype)
                of_weights = (own @ v.mT).mul_(mask)
                of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype)
                nothing = q.new_empty(())
                of_queries = torch.baddbmm(nothing, of_scores, k, beta=0, alpha=ctx.scaling)
                of_keys = torch.baddbmm(nothing, of_scores.mT, q, beta=0, alpha=ctx.scaling)
                of_values = (weights * mask).mT @ own
                for computed, place in zip((of_queries, of_keys, of_values), places, strict=True):
                    place.copy_(computed.view(place.shape))
        return (*gradients, None, None)


def _without_autocast(device: torch.device) -> torch.autocast:
    """Inside, products are of the numbers that they are given; a device without autocast has nothing to be told."""
    return torch.autocast(device.type if torch.amp.is_autocast_available(device.type) else "cpu", enabled=False)


def _gathered(run: Tensor, dtype: torch.dtype) -> Tensor:
    """A run as (heads x sentences, length, size), to be multiplied in one product."""
    return run.new_empty(run.shape, dtype=dtype).copy_(run).flatten(0, 1)
