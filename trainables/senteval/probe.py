"""How well a linear classifier can read classes from embeddings, in one solve: ridge regression, each example left out.

SentEval's own classifiers are trained for seconds; this takes milliseconds, so it can be asked while a training goes
on. Its accuracies are its own: compare them with each other only, never with SentEval's.
"""

from __future__ import annotations

import torch
from torch import Tensor

PENALTY = 0.01
"""Of the squared weights, as a share of the embeddings' mean variance, so that a scale changes nothing."""


def left_out(embeddings: Tensor, labels: Tensor) -> Tensor:  # (examples, dim), (examples,) int64 -> (examples,) int64
    """The class that a ridge classifier gives each example after a fit to all the others.

    One least-squares fit of every class's indicator, with an intercept, serves all examples: with hat matrix H and
    fitted values f, the fit without example i predicts y_i - (y_i - f_i) / (1 - H_ii) for it. Embeddings that are all
    the same give the larger class.
    """
    count = len(embeddings)
    centred = embeddings - embeddings.mean(dim=0)
    targets = torch.nn.functional.one_hot(labels).to(centred.dtype)
    mean = targets.mean(dim=0)
    variance = centred.square().mean()
    if variance == 0:
        return mean.argmax().expand(count)
    gram = centred.mT @ centred
    gram.diagonal().add_(PENALTY * variance * count)
    factor = torch.linalg.cholesky(gram)
    half = torch.linalg.solve_triangular(factor, centred.mT, upper=False)  # (dim, examples)
    leverage = half.square().sum(dim=0) + 1 / count  # the intercept's part is 1 / n
    fitted = half.mT @ (half @ (targets - mean)) + mean
    return (targets - (targets - fitted) / (1 - leverage).unsqueeze(1)).argmax(dim=1)


def probe_accuracy(embeddings: Tensor, labels: Tensor) -> float:  # (examples, dim), (examples,) int64
    """In percent, the share of examples that `left_out` gives their class."""
    return 100 * float((left_out(embeddings, labels) == labels).double().mean())
