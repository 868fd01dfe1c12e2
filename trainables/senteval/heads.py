"""All heads of a task in one fit: every fold and every L2 value is a column block of one stacked linear layer.

The original toolkit fits one softmax classifier after another, 410 for a nested cross-validation. They all read
the same examples, so here one matrix product a step serves them all: rows are permuted once an epoch, a step takes
the next rows, and a mask says which of them belong to which head's training part. A step holds as many rows as
give each head about `batch` of its own, and the loss of a head is the mean over its own rows. A head that has
stopped early leaves the product. Gradients are written out, since a linear layer needs no tape.

Two classes need one column. Softmax of two columns (w0, w1) depends on w1 - w0 only, and the two gradients are
-g and g. From w0 = -w1 every step of Adam or RMSprop, coupled weight decay included, keeps w0 = -w1, because both
optimisers are odd in the gradient. So one column w = w1 with the logit 2 w.x, the gradient g = mean((p - y) x) and
the plain learning rate is that pair. The common part (w0 + w1) / 2 of a random start, which no probability sees,
is left out: w starts at (w1 - w0) / 2 of the usual start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol as Interface

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from trainables.senteval.optimiser import Optimiser
from trainables.senteval.protocol import Fit

_BLOCK_ROWS = 16_384
"""Rows that are gathered at once; bounds the memory of a permuted copy."""


class Rows(Interface):
    """Feature rows that can be gathered by index; the last columns are a one for the bias and zero padding."""

    dim: int

    def take(self, index: Tensor) -> Tensor:  # (n,) -> (n, width)
        ...


@dataclass(frozen=True)
class Fold:
    """Row numbers: `train` is fitted, `dev` stops the fit and scores it."""

    train: np.ndarray
    dev: np.ndarray


@dataclass(frozen=True)
class Heads:
    """Fitted heads in the order fold 0 with each L2 value, fold 1 with each L2 value, ..."""

    weights: Tensor  # (columns, heads, width)
    dev_correct: np.ndarray  # (heads,) correct answers on the head's dev part

    def predict(self, rows: Tensor, heads: Sequence[int] | slice = slice(None)) -> np.ndarray:
        """Class numbers, (rows, heads)."""
        return _classes(rows, self.weights[:, heads]).numpy()


def fit_heads(
    rows: Rows,
    labels: np.ndarray,
    classes: int,
    folds: Sequence[Fold],
    decays: ArrayLike,
    fit: Fit,
    seed: int,
    random: np.random.RandomState | None = None,
) -> Heads:
    """Fit one head for every fold and L2 value; equal to fitting them one after another but for the row order.

    `decays` has one L2 value a column, for all folds or one line for each fold: (L2,) or (folds, L2).
    With one fold the row order is that of the original toolkit, too. `random` goes on drawing from a generator
    that has been used; without it a fresh one starts from `seed`.
    """
    random = random or np.random.RandomState(seed)
    target = torch.from_numpy(np.ascontiguousarray(labels, dtype=np.int64))
    parts = _Parts(folds, len(labels), fit.batch)
    dev = [rows.take(torch.from_numpy(fold.dev)) for fold in folds]
    dev_target = [target[torch.from_numpy(fold.dev)] for fold in folds]

    per_fold = np.atleast_2d(np.asarray(decays, dtype=np.float32)).shape[1]
    decay = torch.tensor(np.broadcast_to(decays, (len(folds), per_fold)).reshape(1, -1, 1), dtype=torch.float32)
    heads = decay.shape[1]
    start = initial_weights(classes, rows.dim, dev[0].shape[1], seed)  # (columns, width)
    weights = start[:, None, :].repeat(1, heads, 1)  # (columns, heads, width)
    optimiser = Optimiser(fit.optimiser, weights)

    alive = torch.arange(heads)
    best = weights.clone()
    best_correct = torch.full((heads,), -1, dtype=torch.long)
    failures = torch.zeros(heads, dtype=torch.long)
    epochs = 0
    while len(alive) and epochs <= fit.max_epochs:
        fold_of = alive // per_fold
        for _ in range(fit.epoch_size):
            _epoch(rows, target, classes, weights, decay, optimiser, parts, fold_of, random)
        epochs += fit.epoch_size
        correct = _dev_correct(dev, dev_target, weights, fold_of)
        improved = correct > best_correct[alive]
        best[:, alive[improved]] = weights[:, improved]
        best_correct[alive[improved]] = correct[improved]
        failures[alive[~improved]] += 1
        keep = failures[alive] <= fit.tenacity
        if not keep.all():
            alive = alive[keep]
            weights, decay = weights[:, keep].contiguous(), decay[:, keep]
            optimiser.keep(keep)
    return Heads(best, best_correct.numpy())


class _Parts:
    """Which rows train which fold, and how many rows a step takes."""

    def __init__(self, folds: Sequence[Fold], rows: int, batch: int) -> None:
        if len(folds) == 1:
            self.index = torch.from_numpy(folds[0].train)
            self.mask = None
            self.step = batch
            return
        mask = torch.zeros(rows, len(folds))
        for column, fold in enumerate(folds):
            mask[torch.from_numpy(fold.train), column] = 1.0
        self.index = mask.any(dim=1).nonzero().squeeze(1)  # rows that train no fold are never read
        self.mask = mask[self.index]  # (rows, folds)
        own = sum(len(fold.train) for fold in folds) / len(folds)
        self.step = max(1, round(batch * len(self.index) / own))

    def shares(self, order: Tensor) -> Tensor | None:
        """(rows, folds): 1 / (the fold's own rows in the step) where the row trains the fold, else 0."""
        if self.mask is None:
            return None
        mask = self.mask[order]
        short = -len(mask) % self.step
        steps = torch.nn.functional.pad(mask, (0, 0, 0, short)).view(-1, self.step, mask.shape[1])
        return (steps / steps.sum(dim=1, keepdim=True).clamp(min=1)).view(-1, mask.shape[1])


def _epoch(
    rows: Rows,
    target: Tensor,
    classes: int,
    weights: Tensor,
    decay: Tensor,
    optimiser: Optimiser,
    parts: _Parts,
    fold_of: Tensor,
    random: np.random.RandomState,
) -> None:
    columns, heads, width = weights.shape
    flat = weights.view(columns * heads, width)
    gradient = torch.empty_like(weights)
    flat_gradient = gradient.view(columns * heads, width)
    logits = torch.empty(parts.step, columns * heads)
    share = torch.empty(parts.step, heads)
    permutation = torch.from_numpy(random.permutation(len(parts.index)))
    block = parts.step * max(1, _BLOCK_ROWS // parts.step)
    for begin in range(0, len(permutation), block):
        order = permutation[begin : begin + block]
        index = parts.index[order]
        x_block = rows.take(index)
        y_block = target[index]
        if classes == 2:
            y_block = y_block.float()[:, None]
        else:
            y_block = torch.nn.functional.one_hot(y_block, classes).float()[:, :, None]
        shares = parts.shares(order)
        for low in range(0, len(order), parts.step):
            x, y = x_block[low : low + parts.step], y_block[low : low + parts.step]
            n = len(x)
            z = logits[:n]
            if columns == 1:
                torch.mm(x, flat.T, out=z)
                error = z.mul_(2).sigmoid_().sub_(y)  # (n, heads)
            else:
                torch.mm(x, flat.T, out=z)
                error = torch.softmax(z.view(n, columns, heads), dim=1).sub_(y)  # (n, columns, heads)
            if shares is None:
                error.mul_(1.0 / n)
            else:
                torch.index_select(shares[low : low + n], 1, fold_of, out=share[:n])
                error.mul_(share[:n] if columns == 1 else share[:n, None, :])
            torch.mul(weights, decay, out=gradient)
            flat_gradient.addmm_(error.view(n, columns * heads).T, x)
            optimiser.step(weights, gradient)


def initial_weights(classes: int, dim: int, width: int, seed: int) -> Tensor:
    """torch's start of a linear layer, uniform within 1/sqrt(dim), as (columns, width) with the bias at `dim`."""
    generator = torch.Generator().manual_seed(seed)
    bound = 1 / math.sqrt(dim)
    start = torch.zeros(classes, width)
    start[:, :dim] = torch.empty(classes, dim).uniform_(-bound, bound, generator=generator)
    start[:, dim] = torch.empty(classes).uniform_(-bound, bound, generator=generator)
    return (start[1:] - start[:1]) / 2 if classes == 2 else start


def _dev_correct(dev: Sequence[Tensor], target: Sequence[Tensor], weights: Tensor, fold_of: Tensor) -> Tensor:
    """Correct answers of each head on its own fold's dev rows; heads are sorted by fold."""
    correct = torch.empty(len(fold_of), dtype=torch.long)
    first = 0
    for fold, count in zip(*(part.tolist() for part in fold_of.unique_consecutive(return_counts=True)), strict=True):
        last = first + count
        predicted = _classes(dev[fold], weights[:, first:last])
        correct[first:last] = (predicted == target[fold][:, None]).sum(dim=0)
        first = last
    return correct


def _classes(rows: Tensor, weights: Tensor) -> Tensor:
    """(rows, width), (columns, heads, width) -> class numbers, (rows, heads)."""
    columns, heads, width = weights.shape
    logits = (rows @ weights.reshape(columns * heads, width).T).view(len(rows), columns, heads)
    return (logits[:, 0] > 0).long() if columns == 1 else logits.argmax(dim=1)
