"""Attention of a packed row of short sentences on a GPU, in programs of Triton.

A sentence has a dozen tokens. Kernels for long texts use 64 or 128 tokens for every sentence and head, and sum
gradients through memory. Here neighbouring sentences share a tile of 64 or 128 tokens. The scores of a tile fit into
registers: only queries, keys, values and the result go through memory, no two programs write to one address, and
results are reproducible.
"""
# mypy: disable-error-code="no-untyped-def, import-untyped"

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from trainables.encoders.packing import AttentionSettings, Tiles


def attend(
    query: Tensor,  # (heads, tokens, size); so are the keys and values
    key: Tensor,
    value: Tensor,
    tiles: Tiles,
    settings: AttentionSettings,
) -> Tensor:  # (tokens, heads, size)
    """Return the attention of each token to its own sentence. Differentiable once."""
    attended: Tensor = _TileAttention.apply(query, key, value, tiles, settings)
    return attended


class _TileAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, tiles: Tiles, settings: AttentionSettings
    ) -> Tensor:
        heads, tokens, size = query.shape
        if not query.stride() == key.stride() == value.stride() or query.stride(2) != 1:
            query, key, value = (part.contiguous() for part in (query, key, value))
        # drawn on the device, without waiting for it
        seed = torch.randint(2**31 - 1, (1,), device=query.device) if settings.dropout else tiles.begins
        layout = tiles.begins, tiles.sentence, seed
        ctx.save_for_backward(query, key, value, *layout)
        scaling = size**-0.5 if settings.scaling is None else settings.scaling
        tf32 = query.device.type == "cuda" and torch.backends.cuda.matmul.allow_tf32
        shape = tiles.tokens, size, settings.causal, settings.window or 0, "tf32" if tf32 else "ieee"
        ctx.how = (*query.stride()[:2], scaling, settings.dropout, *shape)
        ctx.grid, ctx.warps = (len(tiles.begins) - 1, heads), tiles.tokens // 16
        attended = query.new_empty(tokens, heads, size)
        _forward[ctx.grid](query, key, value, attended, *layout, *ctx.how, num_warps=ctx.warps)
        return attended

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, *layout = ctx.saved_tensors
        gradients = [torch.empty_like(gradient, memory_format=torch.contiguous_format) for _ in range(3)]
        parts = (query, key, value, gradient.contiguous(), *gradients)
        _backward[ctx.grid](*parts, *layout, *ctx.how, num_warps=ctx.warps)
        return (*(part.transpose(0, 1) for part in gradients), None, None)


@triton.jit
def _loaded(part, of_head, of_token, rows, real, size: tl.constexpr):
    """Return (tile, size): a head's numbers of the tile's tokens, 0 after the last token."""
    offsets = tl.program_id(1) * of_head + rows[:, None] * of_token + tl.arange(0, size)[None, :]
    return tl.load(part + offsets, mask=real[:, None], other=0.0)


@triton.jit
def _stored(part, numbers, rows, real, size: tl.constexpr):
    """Write a head's numbers into (tokens, heads, size)."""
    offsets = (rows[:, None] * tl.num_programs(1) + tl.program_id(1)) * size + tl.arange(0, size)[None, :]
    tl.store(part + offsets, numbers.to(part.dtype.element_ty), mask=real[:, None])


@triton.jit
def _rows(begins, tile: tl.constexpr):
    """Return the token indices of this program's tile, and whether each belongs to the tile."""
    rows = tl.load(begins + tl.program_id(0)) + tl.arange(0, tile)
    return rows, rows < tl.load(begins + tl.program_id(0) + 1)


@triton.jit
def _weights(
    q,
    k,
    rows,
    real,
    sentence,
    seed,
    scaling,
    dropout: tl.constexpr,
    tile: tl.constexpr,
    causal: tl.constexpr,
    window: tl.constexpr,
    products: tl.constexpr,
):
    """Return (tile, tile) attention weights, and the factors of dropout in the same shape."""
    own = tl.load(sentence + rows, mask=real, other=-1)
    visible = own[:, None] == own[None, :]
    ahead = rows[None, :] - rows[:, None]
    if causal:
        visible = visible & (ahead <= 0)
    if window > 0:
        visible = visible & (ahead < window) & (ahead > -window)
    scores = tl.where(visible, tl.dot(q, tl.trans(k), input_precision=products) * scaling, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    weights = weights / tl.sum(weights, 1)[:, None]
    mask = tl.full((tile, tile), 1.0, tl.float32)
    if dropout > 0:
        # each token, head and neighbour has its own random number
        offsets = (rows[:, None] * tl.num_programs(1) + tl.program_id(1)) * tile + tl.arange(0, tile)[None, :]
        mask = tl.where(tl.rand(tl.load(seed), offsets) >= dropout, 1.0 / (1.0 - dropout), 0.0)
    return weights, mask


@triton.jit
def _forward(
    query,
    key,
    value,
    attended,
    begins,
    sentence,
    seed,
    of_head,
    of_token,
    scaling,
    dropout: tl.constexpr,
    tile: tl.constexpr,
    size: tl.constexpr,
    causal: tl.constexpr,
    window: tl.constexpr,
    products: tl.constexpr,
):
    rows, real = _rows(begins, tile)
    q = _loaded(query, of_head, of_token, rows, real, size)
    k = _loaded(key, of_head, of_token, rows, real, size)
    v = _loaded(value, of_head, of_token, rows, real, size)
    weights, mask = _weights(q, k, rows, real, sentence, seed, scaling, dropout, tile, causal, window, products)
    _stored(attended, tl.dot((weights * mask).to(v.dtype), v, input_precision=products), rows, real, size)


@triton.jit
def _backward(
    query,
    key,
    value,
    gradient,
    of_query,
    of_key,
    of_value,
    begins,
    sentence,
    seed,
    of_head,
    of_token,
    scaling,
    dropout: tl.constexpr,
    tile: tl.constexpr,
    size: tl.constexpr,
    causal: tl.constexpr,
    window: tl.constexpr,
    products: tl.constexpr,
):
    rows, real = _rows(begins, tile)
    q = _loaded(query, of_head, of_token, rows, real, size)
    k = _loaded(key, of_head, of_token, rows, real, size)
    v = _loaded(value, of_head, of_token, rows, real, size)
    own = _loaded(gradient, size, tl.num_programs(1) * size, rows, real, size)
    weights, mask = _weights(q, k, rows, real, sentence, seed, scaling, dropout, tile, causal, window, products)
    _stored(of_value, tl.dot(tl.trans((weights * mask).to(v.dtype)), own, input_precision=products), rows, real, size)
    by_weight = tl.dot(own, tl.trans(v), input_precision=products) * mask
    by_score = weights * (by_weight - tl.sum(weights * by_weight, 1)[:, None]) * scaling
    _stored(of_query, tl.dot(by_score.to(k.dtype), k, input_precision=products), rows, real, size)
    _stored(of_key, tl.dot(tl.trans(by_score.to(q.dtype)), q, input_precision=products), rows, real, size)
