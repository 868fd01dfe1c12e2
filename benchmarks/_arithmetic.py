"""How much a transformer computes, and how fast a machine multiplies."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch


def forward_flops(config: Any, lengths: Sequence[int]) -> float:
    """Floating-point operations of one pass over sentences of so many tokens, by the model's configuration: linear
    layers and attention, real tokens only. Training takes three times as many."""
    hidden, layers = config.hidden_size, config.num_hidden_layers
    tokens = np.array(lengths, dtype=float)
    linear = 2 * (4 * hidden**2 + 2 * hidden * config.intermediate_size) * tokens
    attention = 4 * hidden * tokens**2
    return float(layers * (linear + attention).sum())


def product_rate(rows: int, inner: int, columns: int, precision: torch.dtype, device: str = "cpu") -> float:
    """Floating-point operations a second of a product of two matrices: the best of twenty."""
    import torch

    a = torch.randn(rows, inner, device=device).to(precision)
    b = torch.randn(columns, inner, device=device).to(precision)
    return 2 * rows * inner * columns / best(lambda: a @ b.T, 20, device)


def best(run: Callable[[], object], runs: int, device: str = "cpu") -> float:
    """The shortest of so many runs in seconds, after one that is not timed."""
    run()
    seconds = []
    for _ in range(runs):
        settle(device)
        begin = time.perf_counter()
        run()
        settle(device)
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def settle(device: str) -> None:
    """Wait until a GPU has done what it was given."""
    import torch

    if device != "cpu":
        torch.cuda.synchronize()
