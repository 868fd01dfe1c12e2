"""Attention of a packed row on a GPU: one kernel for all sentences, whatever their lengths.

Each function takes queries, keys and values, (1, heads, tokens, size), and returns (tokens, heads, size). Keys and
values have fewer heads if several queries share one.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
from collections.abc import Callable

import torch
from torch import Tensor

from trainables.encoders.packing import AttentionSettings, Packing

AttentionFunction = Callable[[Tensor, Tensor, Tensor, Packing, AttentionSettings], Tensor]


def fastest_attention(
    value: Tensor, packing: Packing, settings: AttentionSettings, fallback: AttentionFunction
) -> AttentionFunction:
    """Return the fastest function: tiles for short sentences, torch's kernels for longer ones, else `fallback`.

    Tiles and kernels of 16 bits need a GPU of compute capability 8.0 or more.
    """
    if value.device.type != "cuda":
        return fallback
    narrow, size = value.dtype in (torch.bfloat16, torch.float16), value.shape[-1]
    modern = torch.cuda.get_device_capability(value.device) >= (8, 0)
    if narrow and not modern:
        return fallback
    if packing.tiles is not None and modern and _triton_compiles() and fits(packing.tiles.tokens, size, value.dtype):
        return attend_in_tiles
    if narrow and size % 8 == 0 and size <= 256:
        return flash
    return memory_efficient if not narrow and size % 4 == 0 and settings.window is None else fallback


def fits(tile: int, size: int, dtype: torch.dtype) -> bool:
    """Whether `tiles.py` works well with `tile` tokens and `size` numbers per head: sizes must be powers of two and fit
    into a GPU's small fast memory. In 32 bits torch's own kernel is faster from heads of 64 on."""
    return size in (16, 32, 64, 128) and tile * size <= (2**13 if dtype.itemsize == 2 else 2**11)


def attend_in_tiles(query: Tensor, key: Tensor, value: Tensor, packing: Packing, settings: AttentionSettings) -> Tensor:
    """Attend with the project's own kernel, in which short sentences share a tile."""
    from trainables.encoders.tiles import attend

    assert packing.tiles is not None
    query, key, value = (part[0].to(value.dtype) for part in repeat_shared_heads(query, key, value))
    return attend(query, key, value, packing.tiles, settings)


def flash(query: Tensor, key: Tensor, value: Tensor, packing: Packing, settings: AttentionSettings) -> Tensor:
    """Attend with torch's FlashAttention, in 16 bits. It is called directly: `scaled_dot_product_attention` takes
    uneven lengths only as nested tensors, which cost milliseconds of the CPU in each layer."""
    before = None if settings.window is None else settings.window - 1
    attended: Tensor = torch.ops.aten._flash_attention_forward(
        *_rows(query, key, value),
        packing.offsets,
        packing.offsets,
        packing.longest,
        packing.longest,
        settings.dropout,
        settings.causal,
        False,
        scale=settings.scaling,
        window_size_left=before,
        window_size_right=0 if settings.causal and before is not None else before,
    )[0]
    return attended


def memory_efficient(
    query: Tensor, key: Tensor, value: Tensor, packing: Packing, settings: AttentionSettings
) -> Tensor:
    """Attend with torch's kernel for 32 bits, without windows."""
    attended: Tensor = torch.ops.aten._efficient_attention_forward(
        *(part.unsqueeze(0) for part in _rows(query, key, value)),
        None,
        packing.offsets,
        packing.offsets,
        packing.longest,
        packing.longest,
        settings.dropout,
        int(settings.causal),
        compute_log_sumexp=torch.is_grad_enabled(),
        scale=settings.scaling,
    )[0]
    return attended[0]


def repeat_shared_heads(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Repeat heads of keys and values that several query heads share, so that each query head has its own."""
    shared = query.shape[1] // key.shape[1]
    if shared == 1:
        return query, key, value
    return query, key.repeat_interleave(shared, dim=1), value.repeat_interleave(shared, dim=1)


def _rows(query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
    """Return (tokens, heads, size) each, in the value's type: rotary positions may have widened queries and keys."""
    parts = repeat_shared_heads(query, key, value)
    return [part[0].transpose(0, 1).contiguous().to(value.dtype) for part in parts]


@functools.cache
def _triton_compiles() -> bool:
    """Whether Triton is installed, and the C compiler that starts its kernels, which small images lack."""
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    return compiler is not None and importlib.util.find_spec("triton") is not None
