"""Dropout whose random numbers cost little on a CPU.

torch draws one number per element, one after the other, which took a tenth of a training step in fp32 and a fifth in
bf16. Here sixteen random bits decide about an element, so one draw serves four elements. The probability is rounded to
1/65536. Kept elements are scaled by exactly the rounded probability, so the expectation is right. The bits come from
torch's own generator: a seed repeats the dropout, and a saved random state continues it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

LEVELS = 2**16


class QuickDropout(nn.Dropout):
    """`nn.Dropout` that computes by `dropout` of this file."""

    def forward(self, input: Tensor) -> Tensor:
        return dropout(input, self.p) if self.training else input


def dropout(values: Tensor, probability: float) -> Tensor:
    """Set each element to 0 with this probability, and scale the others so that the expectation is unchanged."""
    never = round(probability * LEVELS)
    if values.device.type != "cpu" or never >= LEVELS:  # if it is rounded to 1, no element is left to scale
        return F.dropout(values, probability)
    if probability <= 0:
        return values
    # scaled last: in bf16 the scale itself would be rounded
    return (values * _mask(values.shape, never, values.dtype)).mul_(LEVELS / (LEVELS - never))


def factors(shape: Sequence[int], probability: float, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return a random factor for each element: 0 for a dropped one, else the scale of kept ones, rounded to `dtype`."""
    return dropout(torch.ones(shape, device=device, dtype=dtype), probability)


def _mask(shape: Sequence[int], never: int, dtype: torch.dtype) -> Tensor:
    """Return 1 for kept elements, else 0; no booleans, because a product with them takes more than twice as long."""
    count = math.prod(shape)
    draws = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    bits = draws.view(torch.int16)[:count].view(shape)
    return torch.ge(bits, never - LEVELS // 2, out=torch.empty(shape, dtype=dtype))


def use_quick_dropout(model: nn.Module) -> None:
    """Replace a model's `nn.Dropout` by `QuickDropout`."""
    for module in list(model.modules()):
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                setattr(module, name, QuickDropout(child.p).train(child.training))
