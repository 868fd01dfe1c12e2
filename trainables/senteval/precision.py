"""Average precision, and the threshold with the best F1, of cosines that should be the higher for label 1."""

from __future__ import annotations

import numpy as np


def average_precision(predicted: np.ndarray, gold: np.ndarray) -> float:
    """From 0 to 1: the mean over the items of label 1 of the share of label 1 among those that lie as high or higher.
    0 where there is none."""
    hits, higher = as_high(predicted, gold)
    right = np.asarray(gold) == 1
    return float((hits / higher)[right].mean()) if right.any() else 0.0


def as_high(predicted: np.ndarray, gold: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(items,) each: how many items of label 1 lie as high as this one or higher, and how many items do."""
    _, group = np.unique(predicted, return_inverse=True)
    sizes, hits = np.bincount(group), np.bincount(group, weights=np.asarray(gold) == 1)
    return hits[::-1].cumsum()[::-1][group], sizes[::-1].cumsum()[::-1][group]


def best_threshold(predicted: np.ndarray, gold: np.ndarray) -> float:
    """The one with the best F1 of label 1 where an item that lies as high or higher is given label 1; half-way to the
    next item below. Of several the highest."""
    hits, higher = as_high(predicted, gold)
    f1 = 2 * hits / (higher + (np.asarray(gold) == 1).sum())
    chosen = predicted[f1 == f1.max()].max()
    below = predicted[predicted < chosen]
    return float((chosen + below.max()) / 2) if len(below) else float(chosen)
