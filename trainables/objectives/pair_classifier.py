"""Liao's softmax branch: (u, v, |u - v|) -> linear -> linear -> three labels, with no activation between."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from trainables.labels import LABELS


class PairClassifier(nn.Module):
    """Figure 1 of Liao 2021: linear(3H, 3H/2), then linear(3H/2, 3)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3 * dim, 3 * dim // 2), nn.Linear(3 * dim // 2, len(LABELS)))

    def forward(self, u: Tensor, v: Tensor, label: Tensor) -> Tensor:  # (pairs, dim) twice, (pairs,) -> ()
        """Return the sum, not the mean, of the cross-entropy (eq. 1) over the pairs."""
        logits = self.layers(torch.cat([u, v, (u - v).abs()], dim=1))  # (pairs, 3)
        return F.cross_entropy(logits, label, reduction="sum")
