"""Accuracy of a linear classifier of embeddings, in one solve: ridge regression, where each example is left out once.

SentEval's own classifiers are trained for seconds; this takes milliseconds, so it can run during training. Compare its
accuracies with each other only, never with SentEval's.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from trainables.arrays import sample_rows
from trainables.senteval.examples import Split, TaskData

PENALTY = 0.01
"""Penalty of squared weights, as a share of the embeddings' mean variance, so that rescaled embeddings change
nothing."""
MAX_PROBED_EXAMPLES = 4000
"""At most this many examples of a task are probed. The accuracy is then exact to 0.8 points."""


def predict_left_out(embeddings: Tensor, labels: Tensor, groups: np.ndarray | None = None) -> Tensor:
    """Predict the class of each example, (examples,) int64, by a ridge classifier that is fitted to all other examples,
    or with `groups` to the examples of other groups. `embeddings` is (examples, dim), the others are (examples,).

    One least-squares fit of every class's indicator, with an intercept, serves all examples: with hat matrix H and
    fitted values f, the fit without example i predicts y_i - (y_i - f_i) / (1 - H_ii) for it. To leave out a group, its
    block of H replaces H_ii. If all embeddings are equal, the largest class is predicted.
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
    error = targets - fitted
    unseen = error / (1 - leverage).unsqueeze(1)
    for rows in _together(groups):
        others = torch.eye(len(rows)).to(half) - half[:, rows].mT @ half[:, rows] - 1 / count
        unseen[rows] = torch.linalg.solve(others, error[rows])
    return (targets - unseen).argmax(dim=1)


def _together(groups: np.ndarray | None) -> Iterator[np.ndarray]:
    """Yield the indices of each group's examples, for groups of more than one example but not of all."""
    if groups is not None:
        order = np.argsort(groups, kind="stable")
        cuts = np.flatnonzero(np.diff(groups[order])) + 1
        yield from (rows for rows in np.split(order, cuts) if 1 < len(rows) < len(groups))


def probe_accuracy(embeddings: Tensor, labels: np.ndarray, groups: np.ndarray | None = None) -> float:
    """Return the accuracy of `predict_left_out` in percent."""
    right = torch.from_numpy(labels)
    return 100 * float((predict_left_out(embeddings, right, groups) == right).double().mean())


def probed_part(data: TaskData) -> Split:
    """Return at most `MAX_PROBED_EXAMPLES` examples to probe during training, none of them from a test split. For a
    task with one split, which SentEval scores by cross-validation, they are at most half of it, so that the other half
    does not influence which trials are stopped."""
    names = [name for name in data.splits if name != "test"]
    splits = [data.splits[name] for name in names]
    left = [text for split in splits for text in split.left]
    right = [text for split in splits for text in split.right or []]
    labels = np.concatenate([split.labels for split in splits])
    most = len(left) // 2 if names == ["all"] else len(left)
    return Split(left, right or None, labels).select(sample_rows(len(left), min(most, MAX_PROBED_EXAMPLES)))
