"""How much arithmetic an encoder's work is, and how fast a machine does it at best."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

TOKENS = 4096


def machine_rate(config: Any, precision: Any) -> float:
    """Floating-point operations a second of the feed-forward layer's product on 4096 tokens. `config` is a model's of
    transformers; `precision` a dtype of torch."""
    import torch

    from trainables.encoders.linear import widen

    layer = torch.nn.Linear(config.hidden_size, config.intermediate_size, bias=False).to(precision)
    widen(layer)  # by the faster library
    values = torch.randn(TOKENS, config.hidden_size).to(precision)
    with torch.inference_mode():
        return 2 * TOKENS * layer.weight.numel() / best(lambda: layer(values), 20)


def forward_flops(config: Any, lengths: Sequence[int]) -> float:
    """Floating-point operations of one pass over sentences of so many tokens: linear layers and attention. A training
    step is three times as much."""
    hidden, tokens = config.hidden_size, np.array(lengths, dtype=float)
    linear = 2 * (4 * hidden**2 + 2 * hidden * config.intermediate_size) * tokens
    attention = 4 * hidden * tokens**2
    return float(config.num_hidden_layers * (linear + attention).sum())


def best(run: Callable[[], object], runs: int) -> float:
    """The shortest of so many runs in seconds, after one that is not timed."""
    run()
    return min(timeit.repeat(run, repeat=runs, number=1))
