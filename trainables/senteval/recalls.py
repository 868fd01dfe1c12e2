"""How often captions find their image, and images one of their captions, among the first k: means over five folds."""

from __future__ import annotations

import numpy as np

CAPTIONS = 5
"""Captions of an image."""
FOLDS = 5
FOLD_IMAGES = 1000
"""Images of a fold, or a fifth of them where there are fewer."""
WAYS = ("i2t", "t2i")
AT = (1, 5, 10)


def fold_size(images: int) -> int:
    """How many images each fold has."""
    return min(FOLD_IMAGES, images // FOLDS)


def recalls(to_images: np.ndarray, to_captions: np.ndarray) -> dict[str, float]:
    """Mean over folds of R@1, 5 and 10 in percent, both ways: from (captions,) how many images lie nearer than a
    caption's own, and from (images,) how many captions lie nearer than the nearest of an image's own."""
    return {
        f"{way}_r{k}": float(np.mean([100 * (fold < k).mean() for fold in np.split(ranks, FOLDS)]))
        for way, ranks in (("i2t", to_captions), ("t2i", to_images))
        for k in AT
    }
