"""Linear layers in fp32 on AMD's processors from Zen 5 on, multiplied by oneDNN.

torch multiplies fp32 by Intel's MKL, which on these works on 256 bits at once. oneDNN, which torch has for 16 bits,
works on 512, and takes half the time.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from trainables.machine import wide_amd


class WideLinear(nn.Linear):
    """`nn.Linear`, multiplied as above where it is in fp32 on a CPU."""

    def forward(self, input: Tensor) -> Tensor:
        fp32 = input.dtype == self.weight.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
        if not fp32 or input.device.type != "cpu" or input.numel() == 0:
            return super().forward(input)
        product: Tensor = _Product.apply(input.reshape(-1, self.in_features), self.weight, self.bias)
        return product.view(*input.shape[:-1], self.out_features)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(values, weight)
        return times(values, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        values, weight = ctx.saved_tensors
        by_values, by_weight, by_bias = ctx.needs_input_grad
        return (
            times(gradient, weight.T) if by_values else None,
            times(gradient.T, values.T) if by_weight else None,
            gradient.sum(0) if by_bias else None,
        )


def times(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """(rows, size) by (columns, size): `left @ right.T`, and the bias, by oneDNN."""
    product: Tensor = torch.ops.mkldnn._linear_pointwise(left, right, bias, "none", [], "")
    return product


def widen(model: nn.Module) -> None:
    """Have a model's linear layers multiplied so, where that is faster."""
    if not wide_amd() or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return
    for module in model.modules():
        if type(module) is nn.Linear:
            module.__class__ = WideLinear
