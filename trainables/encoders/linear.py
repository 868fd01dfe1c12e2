"""Linear layers in fp32 on AMD's processors from Zen 5 on, multiplied by oneDNN.

torch multiplies fp32 with Intel's MKL, which works on 256 bits at once on these processors. oneDNN, which torch
contains for 16-bit types, works on 512 bits and takes half the time. oneDNN keeps a program and megabytes of memory for
each number of rows, so it only gets blocks of `BLOCK_ROWS` rows; MKL multiplies the rest.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from trainables.machine import wide_amd

BLOCK_ROWS = 256
"""Number of rows that oneDNN multiplies at once."""


class WideLinear(nn.Linear):
    """`nn.Linear` that multiplies by oneDNN in fp32 on a CPU."""

    def forward(self, input: Tensor) -> Tensor:
        fp32 = input.dtype == self.weight.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
        if not fp32 or input.device.type != "cpu" or input.numel() < BLOCK_ROWS * self.in_features:
            return super().forward(input)
        product: Tensor = _Product.apply(input.reshape(-1, self.in_features), self.weight, self.bias)
        return product.view(*input.shape[:-1], self.out_features)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(values, weight)
        return _rows(values, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        values, weight = ctx.saved_tensors
        by_values, by_weight, by_bias = ctx.needs_input_grad
        return (
            _rows(gradient, weight.T) if by_values else None,
            _columns(gradient, values) if by_weight else None,
            gradient.sum(0) if by_bias else None,
        )


def _rows(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """`left @ right.T`, and the bias."""
    product = left.new_empty(len(left), len(right))
    whole = len(left) // BLOCK_ROWS * BLOCK_ROWS
    for into, piece in zip(product[:whole].split(BLOCK_ROWS), left[:whole].split(BLOCK_ROWS), strict=True):
        into.copy_(_multiply_block(piece, right, bias))
    product[whole:] = F.linear(left[whole:], right, bias)
    return product


def _columns(left: Tensor, right: Tensor) -> Tensor:
    """Return `left.T @ right`, multiplied block by block."""
    whole = len(left) // BLOCK_ROWS * BLOCK_ROWS
    product = left[whole:].T @ right[whole:]
    for one_side, other in zip(left[:whole].split(BLOCK_ROWS), right[:whole].split(BLOCK_ROWS), strict=True):
        product += _multiply_block(one_side.T, other.T)
    return product


def _multiply_block(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `left @ right.T` plus the bias, multiplied by oneDNN."""
    product: Tensor = torch.ops.mkldnn._linear_pointwise(left, right, bias, "none", [], "")
    return product


def use_wide_linear(model: nn.Module) -> None:
    """Replace a model's linear layers by `WideLinear`, on processors on which that is faster."""
    if not wide_amd() or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return
    for module in model.modules():
        if type(module) is nn.Linear:
            module.__class__ = WideLinear
