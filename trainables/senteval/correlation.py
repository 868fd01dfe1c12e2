"""Cosine, Pearson and Spearman as SentEval takes them: NaN counts as 0. Loads no torch, since reports ask, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

Correlation = Literal["spearman", "pearson"]


def cosine(embeddings: Tensor, left: Tensor, right: Tensor) -> np.ndarray:
    """(pairs,) float64; 0 where a vector is zero.

    Pair by pair in float32, as the original does: near-ties (two sentences of the same words) are ranked by its
    rounding, which moves a Spearman of averaged word vectors by up to 0.03. More digits would be less faithful.
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
    """0 where one side is constant. In float64, whatever the arrays are: what is kept may be in fewer bytes."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    x, y = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((x * x).sum() * (y * y).sum()))
    return float((x * y).sum() / scale) if scale > 0 else 0.0


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson of the ranks; ties share the mean of theirs."""
    return pearson(ranks(a), ranks(b))


CORRELATIONS: Mapping[Correlation, Callable[[np.ndarray, np.ndarray], float]] = {
    "spearman": spearman,
    "pearson": pearson,
}


def correlation_in(number: str) -> Correlation:
    """Which correlation a number of a task is, by its name."""
    return "spearman" if "spearman" in number else "pearson"


def ranks(values: np.ndarray) -> np.ndarray:
    """(items,) From 1; equal values share the mean of their ranks. All NaN where one of the values is."""
    if np.isnan(values).any():
        return np.full(len(values), np.nan)
    below, upto = rank_bounds(values)
    return np.asarray((below + upto + 1) / 2)


def rank_bounds(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(items,) How many values are less than each one, and how many at most as large."""
    order = np.argsort(values)
    ordered = values[order]
    below, upto = np.empty_like(order), np.empty_like(order)
    below[order], upto[order] = ordered.searchsorted(ordered, "left"), ordered.searchsorted(ordered, "right")
    return below, upto
