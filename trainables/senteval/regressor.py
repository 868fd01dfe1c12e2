"""SentEval's trained regressor for relatedness: softmax over five bins, fitted by mean squared error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from trainables.senteval.classifier import ClassifierOptimiser, initial_weights
from trainables.senteval.correlation import pearson

BINS = 5
_BATCH, _CHECK, _TENACITY, _MAX_EPOCHS = 64, 50, 3, 1000


def fit_regressor(
    train: Tensor, scores: np.ndarray, dev: Tensor, dev_scores: np.ndarray, dim: int, seed: int
) -> Callable[[Tensor], np.ndarray]:
    """Fit and return a function from feature rows (n, width) to expected bins (n,). `scores` are on the bins' scale;
    `dev_scores` may be on any.

    Pearson's correlation on dev is computed every 50 epochs. Training stops once more than 3 of them have failed to
    improve, or more than 1000 epochs have run; the best weights are kept.
    """
    random = np.random.RandomState(seed)
    weights = initial_weights(BINS, dim, train.shape[1], seed)  # (bins, width)
    gradient = torch.empty_like(weights)
    optimiser = ClassifierOptimiser("adam", weights)
    target = torch.from_numpy(bins(scores))
    best, best_pearson, failures, epochs = weights.clone(), -1.0, 0, 0
    while failures <= _TENACITY and epochs <= _MAX_EPOCHS:
        for _ in range(_CHECK):
            order = torch.from_numpy(random.permutation(len(train)))
            rows, targets = train.index_select(0, order), target.index_select(0, order)
            for x, t in zip(rows.split(_BATCH), targets.split(_BATCH), strict=True):
                p = torch.softmax(x @ weights.T, dim=1)  # (batch, bins)
                error = (p - t).mul_(p)  # half of dL/dp * p, but for the mean
                error.sub_(p * error.sum(dim=1, keepdim=True)).mul_(2 / error.numel())
                torch.mm(error.T, x, out=gradient)
                optimiser.step(weights, gradient)
        epochs += _CHECK
        score = pearson(_expected(dev, weights), dev_scores)
        if score > best_pearson:
            best, best_pearson = weights.clone(), score
        else:
            failures += 1
    return lambda rows: _expected(rows, best)


def onto_bins(scores: np.ndarray, scale: tuple[float, float]) -> np.ndarray:
    """Map scores linearly, (n,) -> (n,), so that the ends of a scale become the first and the last bin."""
    low, high = scale
    return scores if scale == (1, BINS) else 1 + (BINS - 1) * ((scores - low) / (high - low))


def bins(scores: np.ndarray) -> np.ndarray:
    """Share each score among its two neighbours of the bins 1 to 5, (n,) -> (n, 5); the share of a score below 1 for a
    bin 0 is lost."""
    low = np.floor(scores)
    target = np.zeros((len(scores), BINS), dtype=np.float32)
    for number in range(1, BINS + 1):
        target[:, number - 1] = np.where(low + 1 == number, scores - low, 0) + np.where(
            low == number, low + 1 - scores, 0
        )
    return target


def _expected(rows: Tensor, weights: Tensor) -> np.ndarray:
    bins_ = torch.arange(1, BINS + 1, dtype=torch.float64)
    return (torch.softmax(rows @ weights.T, dim=1).double() @ bins_).numpy()
