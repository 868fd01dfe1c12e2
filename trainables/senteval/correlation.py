"""Cosine, Pearson and Spearman as SentEval takes them: NaN counts as 0."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata
from torch import Tensor


def cosine(embeddings: Tensor, left: Tensor, right: Tensor) -> np.ndarray:
    """(pairs,) float64; 0 where a vector is zero.

    Pair by pair in float32, as the original does: near-ties (two sentences of the same words) are ranked by its
    rounding, which moves a Spearman of averaged word vectors by up to 0.03. More digits would be less faithful.
    """
    table = embeddings.numpy()
    norms = [np.linalg.norm(vector) for vector in table[np.concatenate([left, right])]]
    found = np.zeros(len(left))
    for pair, (i, j) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        norm = norms[pair] * norms[len(found) + pair]
        if norm > 0:
            found[pair] = np.dot(table[i], table[j]) / norm
    return found


def pearson(a: np.ndarray, b: np.ndarray) -> float:
    """0 where one side is constant."""
    x, y = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((x * x).sum() * (y * y).sum()))
    return float((x * y).sum() / scale) if scale > 0 else 0.0


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson of the ranks; ties share the mean of theirs."""
    return pearson(rankdata(a), rankdata(b))
