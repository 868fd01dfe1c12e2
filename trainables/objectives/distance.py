"""Euclidean distances of triplets, with gradients that need little memory."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def distance(a: Tensor, b: Tensor) -> Tensor:  # (n, dim), (m, dim) -> (n, m)
    """Return Euclidean distances of rows of `a` and `b`, exact also between near rows. Equal rows have gradient 0."""
    distances: Tensor = _Distance.apply(a, b)
    return distances


class _Distance(torch.autograd.Function):
    """`torch.cdist` with a gradient of two matrix products. PyTorch's gradient makes an (n, m, dim) buffer on a GPU."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        distances = torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
        ctx.save_for_backward(a, b, distances)
        return distances

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        a, b, distances = ctx.saved_tensors
        weights = (gradient / distances).masked_fill(distances == 0, 0.0)  # the factor of each difference a - b
        centre = b.mean(dim=0) if len(b) else 0.0  # without the common offset the products lose no digits
        a, b = a - centre, b - centre
        of_a = weights.sum(dim=1, keepdim=True) * a - weights @ b
        of_b = weights.sum(dim=0).unsqueeze(1) * b - weights.T @ a
        return of_a, of_b
