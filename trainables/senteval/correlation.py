"""Cosine, Pearson and Spearman as in SentEval: NaN counts as 0. Loads no torch, because reports use this, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

Correlation = Literal["spearman", "pearson"]


def cosine(embeddings: Tensor, left: Tensor, right: Tensor) -> np.ndarray:
    """Return (pairs,) float64 cosines; 0 if a vector is zero.

    Computed pair by pair in float32, as in the original: its rounding ranks near-ties (two sentences of the same
    words), which moves a Spearman of averaged word vectors by up to 0.03. More digits would be less faithful.
    """
    table = embeddings.numpy()
    norms = [np.linalg.norm(vector) for vector in table[np.concatenate([left, right])]]
    cosines = np.zeros(len(left))
    for pair, (i, j) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        norm = norms[pair] * norms[len(cosines) + pair]
        if norm > 0:
            cosines[pair] = np.dot(table[i], table[j]) / norm
    return cosines


def pearson(a: np.ndarray, b: np.ndarray) -> float:
    """Return Pearson's correlation; 0 if one array is constant. Always computed in float64."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    x, y = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((x * x).sum() * (y * y).sum()))
    return float((x * y).sum() / scale) if scale > 0 else 0.0


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Return Pearson's correlation of the ranks; ties share the mean of their ranks."""
    return pearson(ranks(a), ranks(b))


CORRELATIONS: Mapping[Correlation, Callable[[np.ndarray, np.ndarray], float]] = {
    "spearman": spearman,
    "pearson": pearson,
}


def correlation_in(number: str) -> Correlation:
    """Return which correlation a task's score is, by the score's name such as `test_spearman_cosine`."""
    return "spearman" if "spearman" in number else "pearson"


def ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks from 1, (items,); equal values share the mean of their ranks. All NaN if a value is NaN."""
    if np.isnan(values).any():
        return np.full(len(values), np.nan)
    below, upto = rank_bounds(values)
    return np.asarray((below + upto + 1) / 2)


def rank_bounds(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each value how many values are less, and how many are at most as large: (items,) each."""
    order = np.argsort(values)
    ordered = values[order]
    below, upto = np.empty_like(order), np.empty_like(order)
    below[order], upto[order] = ordered.searchsorted(ordered, "left"), ordered.searchsorted(ordered, "right")
    return below, upto
