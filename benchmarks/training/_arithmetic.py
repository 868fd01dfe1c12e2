"""The arithmetic of an encoder's work, and a machine's best speed."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

TOKENS = 4096


def machine_rate(config: Any, precision: Any) -> float:
    """Return the floating-point operations per second of this machine, in the matrix product of a feed-forward layer on
    4096 tokens. `config`: a transformers model's configuration; `precision`: a torch dtype."""
    import torch

    from trainables.encoders.linear import use_wide_linear

    layer = torch.nn.Linear(config.hidden_size, config.intermediate_size, bias=False).to(precision)
    use_wide_linear(layer)  # uses the faster library
    values = torch.randn(TOKENS, config.hidden_size).to(precision)
    with torch.inference_mode():
        return 2 * TOKENS * layer.weight.numel() / best(lambda: layer(values), 20)


def forward_flops(config: Any, lengths: Sequence[int]) -> float:
    """Return the floating-point operations of one pass over sentences with these numbers of tokens: linear layers and
    attention. A training step takes three times as many."""
    hidden, tokens = config.hidden_size, np.array(lengths, dtype=float)
    linear = 2 * (4 * hidden**2 + 2 * hidden * config.intermediate_size) * tokens
    attention = 4 * hidden * tokens**2
    return float(config.num_hidden_layers * (linear + attention).sum())


def best(run: Callable[[], object], runs: int) -> float:
    """Return the seconds of the fastest of these runs, after one run that is not timed."""
    run()
    return min(timeit.repeat(run, repeat=runs, number=1))
