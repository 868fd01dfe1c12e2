"""Attention of a packed row on a GPU: one kernel for all sentences, whatever their lengths.

Each function takes queries, keys and values, (1, heads, tokens, size), the keys and values of fewer heads where several
queries share one, and gives (tokens, heads, size).
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nested import nested_tensor_from_jagged
from torch.nn import functional as F

from trainables.encoders.packing import Packing


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


Way = Callable[[Tensor, Tensor, Tensor, Packing, Looks], Tensor]


def fastest(values: Tensor, looks: Looks, otherwise: Way) -> Way:
    """FlashAttention's own function where the package is installed; else torch's kernels, which know no window. What
    they cannot do is done `otherwise`.

    Kernels of 16 bits need a GPU of compute capability 8.0 or more.
    """
    if values.device.type != "cuda":
        return otherwise
    narrow = values.dtype in (torch.bfloat16, torch.float16)
    if narrow and torch.cuda.get_device_capability(values.device) < (8, 0):
        return otherwise
    if narrow and _flash_installed():
        return flash
    return jagged if looks.window is None else otherwise


def jagged(query: Tensor, key: Tensor, value: Tensor, packing: Packing, looks: Looks) -> Tensor:
    """torch's own attention over sentences of uneven length: FlashAttention in 16 bits, the memory-efficient kernel in
    32."""
    shared = query.shape[1] // key.shape[1]
    query, key, value = rows_of(query), rows_of(key, shared), rows_of(value, shared)

    def nested(part: Tensor) -> Tensor:  # told the lengths, or it would ask the device for them
        whole = nested_tensor_from_jagged(
            part, packing.offsets, min_seqlen=packing.shortest, max_seqlen=packing.longest
        )
        return whole.transpose(1, 2)

    found = F.scaled_dot_product_attention(
        nested(query),
        nested(key),
        nested(value),
        dropout_p=looks.dropout,
        is_causal=looks.causal,
        scale=looks.scaling,
    )
    attended: Tensor = found.transpose(1, 2).values()
    return attended


def flash(query: Tensor, key: Tensor, value: Tensor, packing: Packing, looks: Looks) -> Tensor:
    """The function of the package `flash_attn`."""
    from flash_attn import flash_attn_varlen_func

    before = -1 if looks.window is None else looks.window - 1
    attended: Tensor = flash_attn_varlen_func(
        rows_of(query).to(value.dtype),  # rotary positions may have widened them
        rows_of(key).to(value.dtype),
        rows_of(value),
        packing.offsets,
        packing.offsets,
        packing.longest,
        packing.longest,
        dropout_p=looks.dropout,
        softmax_scale=looks.scaling,
        causal=looks.causal,
        window_size=(before, 0 if looks.causal else before),
    )
    return attended


def rows_of(part: Tensor, times: int = 1) -> Tensor:  # (1, heads, tokens, size) -> (tokens, heads x times, size)
    """Token by token, each head so many times."""
    row = part[0].transpose(0, 1)
    return (row if times == 1 else row.repeat_interleave(times, dim=1)).contiguous()


@functools.cache
def _flash_installed() -> bool:
    return importlib.util.find_spec("flash_attn") is not None
