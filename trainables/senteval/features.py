"""What a linear classifier sees: one embedding, or products and differences of two, with a one for the bias."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainables.lazy_torch import torch

if TYPE_CHECKING:
    from torch import Tensor


class Singles:
    """One embedding a row."""

    def __init__(self, embeddings: Tensor, index: Tensor) -> None:
        self.dim = embeddings.shape[1]
        self.rows = _padded(embeddings[index])
        self.device = embeddings.device

    def take(self, index: Tensor) -> Tensor:  # (n,) -> (n, width)
        return self.rows.index_select(0, index)


class PairRows:
    """(|u - v|, u * v), or with `both` (u, v, u * v, |u - v|)."""

    def __init__(self, embeddings: Tensor, left: Tensor, right: Tensor, both: bool = False) -> None:
        self.embeddings, self.both, self.device = embeddings, both, embeddings.device
        self.left, self.right = left.to(embeddings.device), right.to(embeddings.device)
        self.dim = embeddings.shape[1] * (4 if both else 2)
        # SNLI's 550,000 rows are four embeddings wide: built for each block of rows, never as a whole.
        self.rows = None if both else self._build(torch.arange(len(left), device=embeddings.device))

    def take(self, index: Tensor) -> Tensor:  # (n,) -> (n, width)
        return self._build(index) if self.rows is None else self.rows.index_select(0, index)

    def _build(self, index: Tensor) -> Tensor:
        u, v = self.embeddings[self.left[index]], self.embeddings[self.right[index]]
        parts = [u, v, u * v, (u - v).abs()] if self.both else [(u - v).abs(), u * v]
        return _padded(torch.cat(parts, dim=1))


FeatureRows = Singles | PairRows
"""Feature rows that can be gathered by index; the last columns are a one for the bias and zero padding."""


def _padded(rows: Tensor) -> Tensor:
    """A column of ones and then zeros up to a multiple of 16, at which matrix products are fastest."""
    n, dim = rows.shape
    padded = rows.new_zeros(n, (dim // 16 + 1) * 16)
    padded[:, :dim] = rows
    padded[:, dim] = 1.0
    return padded
