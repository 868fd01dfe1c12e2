"""Attention of a packed row in training, where no kernel of a GPU does it: run by run, a run being neighbours of one
length.

Forwards and backwards are one step of autograd each, which for sentences of a dozen tokens costs less than the many
small ones. On a CPU numbers are fp32, also where the rest is computed in bf16: so small products are slower in 16 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from trainables.encoders.dropout import factors

Near = Callable[[int], Tensor | None]
"""From a length to which tokens a token looks at, (length, length) boolean; None: all."""


def attend(
    query: Tensor,  # (heads, tokens, size)
    key: Tensor,
    value: Tensor,
    runs: Sequence[tuple[int, int]],  # (sentences, their length), together `tokens`
    near: Near,
    dropout: float,
    scaling: float,
) -> Tensor:  # (tokens, heads, size)
    """Differentiable, once."""
    found: Tensor = _Attention.apply(query, key, value, runs, near, dropout, scaling)
    return found


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        runs: Sequence[tuple[int, int]],
        near: Near,
        dropout: float,
        scaling: float,
    ) -> Tensor:
        heads, tokens, size = query.shape
        number = torch.float32 if value.device.type == "cpu" and value.dtype == torch.bfloat16 else value.dtype
        attended = value.new_empty(tokens, heads, size)
        saved: list[Tensor] = []
        drawn = _drawn([heads * count * length**2 for count, length in runs], dropout, value.device, number)
        with _as_given(value.device):
            for (count, length), place, kept in zip(runs, _places(runs), drawn, strict=True):
                q, k, v = (_gathered(part, place, count, number) for part in (query, key, value))
                scores = torch.baddbmm(q.new_empty(()), q, k.mT, beta=0, alpha=scaling)
                looked = near(length)
                if looked is not None:
                    scores.masked_fill_(~looked, -torch.inf)
                weights = scores.softmax(-1)
                kept = None if kept is None else kept.view_as(weights)
                found = (weights if kept is None else weights * kept) @ v
                _scatter(found, attended.transpose(0, 1), place, count)
                if any(ctx.needs_input_grad):  # else a run's numbers are let go at once
                    saved += [q, k, v, weights] if kept is None else [q, k, v, weights, kept]
        ctx.save_for_backward(*saved)
        ctx.runs, ctx.scaling, ctx.dropped, ctx.dtype = runs, scaling, dropout > 0, query.dtype
        return attended

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        tokens, heads, size = gradient.shape
        # laid out as what a linear layer gave, whose gradient they are part of
        found = [gradient.new_empty(tokens, heads, size, dtype=ctx.dtype).transpose(0, 1) for _ in range(3)]
        saved = iter(ctx.saved_tensors)
        with _as_given(gradient.device):
            for (count, _), place in zip(ctx.runs, _places(ctx.runs), strict=True):
                q, k, v, weights = (next(saved) for _ in range(4))
                kept = next(saved) if ctx.dropped else None
                own = _gathered(gradient.transpose(0, 1), place, count, q.dtype)
                of_weights = own @ v.mT
                of_values = (weights if kept is None else weights * kept).mT @ own
                if kept is not None:
                    of_weights.mul_(kept)
                of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype)
                nothing = q.new_empty(())
                of_queries = torch.baddbmm(nothing, of_scores, k, beta=0, alpha=ctx.scaling)
                of_keys = torch.baddbmm(nothing, of_scores.mT, q, beta=0, alpha=ctx.scaling)
                for whole, part in zip(found, (of_queries, of_keys, of_values), strict=True):
                    _scatter(part, whole, place, count)
        return (*found, None, None, None, None)


def _as_given(device: torch.device) -> torch.autocast:
    """Inside, products are of the numbers that they are given; a device without autocast has nothing to be told."""
    return torch.autocast(device.type if torch.amp.is_autocast_available(device.type) else "cpu", enabled=False)


def _places(runs: Sequence[tuple[int, int]]) -> Iterator[slice]:
    """Of each run's tokens in the row."""
    start = 0
    for count, length in runs:
        yield slice(start, start := start + count * length)


def _gathered(part: Tensor, place: slice, count: int, number: torch.dtype) -> Tensor:
    """A run of (heads, tokens, size) as (heads x sentences, length, size), to be multiplied in one product."""
    heads, _, size = part.shape
    run = part[:, place].unflatten(1, (count, -1))
    return run.new_empty(run.shape, dtype=number).copy_(run).view(heads * count, -1, size)


def _scatter(run: Tensor, whole: Tensor, place: slice, count: int) -> None:
    """The way back, into `whole`, (heads, tokens, size)."""
    whole[:, place].unflatten(1, (count, -1)).copy_(run.view(len(whole), count, *run.shape[1:]))


def _drawn(counts: Sequence[int], dropout: float, device: torch.device, number: torch.dtype) -> Sequence[Tensor | None]:
    """What each weight of each run is multiplied with."""
    if not dropout:
        return [None] * len(counts)
    return factors((sum(counts),), dropout, device, number).split(list(counts))
