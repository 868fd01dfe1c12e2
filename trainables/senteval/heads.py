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
from numpy.random import RandomState
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
    drawn: int = 0
    """Length of a permutation that the fold's generator has drawn before the first epoch."""

    def generator(self, seed: int) -> RandomState:
        random = RandomState(seed)
        if self.drawn:
            random.permutation(self.drawn)
        return random


def hold_out(train: np.ndarray, seed: int, share: float = 0.05) -> Fold:
    """A fold that stops on a random share of the training rows."""
    order = train[RandomState(seed).permutation(len(train))]
    held = max(1, int(share * len(train)))
    return Fold(order[held:], order[:held], drawn=len(train))


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
    *,
    apart: bool = False,
) -> Heads:
    """Fit one head for every fold and L2 value; equal to fitting them one after another but for the row order.

    `decays` has one L2 value a column, for all folds or one line for each fold: (L2,) or (folds, L2).
    With one fold the row order is that of the original toolkit, too. With `apart` it is so for several folds:
    each then reads its own rows, which costs more than one product for all.
    """
    per_fold = np.atleast_2d(np.asarray(decays)).shape[1]
    decay = np.broadcast_to(np.asarray(decays, dtype=np.float32), (len(folds), per_fold))
    if not apart:
        return _fit(_Shared, rows, labels, classes, folds, decay, fit, seed)
    # The original seeds each fit alike, so folds that draw alike are permuted alike, and can share a stack.
    alike: dict[tuple[int, int], list[int]] = {}
    for number, fold in enumerate(folds):
        alike.setdefault((len(fold.train), fold.drawn), []).append(number)
    stacks = [
        _fit(_Apart, rows, labels, classes, [folds[i] for i in group], decay[group], fit, seed)
        for group in alike.values()
    ]
    heads = [fold * per_fold + i for group in alike.values() for fold in group for i in range(per_fold)]
    order = np.argsort(heads)
    return Heads(
        torch.cat([stack.weights for stack in stacks], dim=1)[:, torch.from_numpy(order)],
        np.concatenate([stack.dev_correct for stack in stacks])[order],
    )


def _fit(
    reading: type[_Shared] | type[_Apart],
    rows: Rows,
    labels: np.ndarray,
    classes: int,
    folds: Sequence[Fold],
    decays: np.ndarray,  # (folds, L2)
    fit: Fit,
    seed: int,
) -> Heads:
    target = torch.from_numpy(np.ascontiguousarray(labels, dtype=np.int64))
    stack = reading(rows, target, classes, folds, fit.batch, seed)
    dev = [rows.take(torch.from_numpy(fold.dev)) for fold in folds]
    dev_target = [target[torch.from_numpy(fold.dev)] for fold in folds]

    per_fold = decays.shape[1]
    decay = torch.tensor(decays.reshape(1, -1, 1))  # (1, heads, 1)
    heads = decay.shape[1]
    start = initial_weights(classes, rows.dim, dev[0].shape[1], seed)  # (columns, width)
    weights = start[:, None, :].repeat(1, heads, 1)  # (columns, heads, width)
    optimiser = Optimiser(fit.optimiser, weights)

    stacked = torch.arange(heads)  # the heads that are still in the stack
    best = weights.clone()
    best_correct = torch.full((heads,), -1, dtype=torch.long)
    failures = torch.zeros(heads, dtype=torch.long)
    epochs = 0
    while len(stacked) and epochs <= fit.max_epochs:
        fold_of = stacked // per_fold
        for _ in range(fit.epoch_size):
            stack.epoch(weights, decay, fold_of, optimiser)
        epochs += fit.epoch_size
        correct = _dev_correct(dev, dev_target, weights, fold_of)
        running = failures[stacked] <= fit.tenacity
        improved = running & (correct > best_correct[stacked])
        best[:, stacked[improved]] = weights[:, improved]
        best_correct[stacked[improved]] = correct[improved]
        failures[stacked[running & ~improved]] += 1
        keep = stack.keeps(failures[stacked] <= fit.tenacity, per_fold)
        if not keep.all():
            stacked = stacked[keep]
            weights, decay = weights[:, keep].contiguous(), decay[:, keep]
            optimiser.keep(keep)
    return Heads(best, best_correct.numpy())


class _Shared:
    """One order of the rows for all folds; a mask says which rows train which fold."""

    def __init__(self, rows: Rows, target: Tensor, classes: int, folds: Sequence[Fold], batch: int, seed: int) -> None:
        self.rows, self.target, self.random = rows, target, folds[0].generator(seed)
        self.truth = _truth(classes)
        mask = torch.zeros(len(target), len(folds))
        for column, fold in enumerate(folds):
            mask[torch.from_numpy(fold.train), column] = 1.0
        # Rows that train no fold are never read; one fold keeps its own order.
        used = mask.any(dim=1).nonzero().squeeze(1)
        self.index = used if len(folds) > 1 else torch.from_numpy(folds[0].train)
        self.mask = mask[self.index]  # (rows, folds)
        own = sum(len(fold.train) for fold in folds) / len(folds)
        self.step = max(1, round(batch * len(self.index) / own))

    def epoch(self, weights: Tensor, decay: Tensor, fold_of: Tensor, optimiser: Optimiser) -> None:
        columns, heads, width = weights.shape
        flat = weights.view(-1, width)  # (columns * heads, width)
        gradient = torch.empty_like(weights)
        logits, share = torch.empty(self.step, columns * heads), torch.empty(self.step, heads)
        permutation = torch.from_numpy(self.random.permutation(len(self.index)))
        for order in permutation.split(self.step * max(1, _BLOCK_ROWS // self.step)):
            index = self.index[order]
            block = zip(
                self.rows.take(index).split(self.step),
                self.truth[self.target[index]].split(self.step),
                self._shares(order).split(self.step),
                strict=True,
            )
            for x, y, own in block:  # (n, width), (n, columns, 1), (n, folds)
                n = len(x)
                torch.mm(x, flat.T, out=logits[:n])
                error = _probabilities(logits[:n].view(n, columns, heads)).sub_(y)
                torch.index_select(own, 1, fold_of, out=share[:n])
                error.mul_(share[:n, None, :])
                torch.mul(weights, decay, out=gradient)
                gradient.view_as(flat).addmm_(error.view(n, -1).T, x)
                optimiser.step(weights, gradient)

    def keeps(self, running: Tensor, per_fold: int) -> Tensor:
        """Which heads stay in the stack."""
        return running

    def _shares(self, order: Tensor) -> Tensor:
        """(rows, folds): 1 / the fold's own rows in the step where a row trains the fold, else 0."""
        mask = self.mask[order]
        steps = torch.nn.functional.pad(mask, (0, 0, 0, -len(mask) % self.step)).view(-1, self.step, mask.shape[1])
        return (steps / steps.sum(dim=1, keepdim=True).clamp(min=1)).view(-1, mask.shape[1])[: len(mask)]


class _Apart:
    """Each fold reads its own rows, in the order in which the original reads them."""

    def __init__(self, rows: Rows, target: Tensor, classes: int, folds: Sequence[Fold], batch: int, seed: int) -> None:
        self.rows, self.target, self.random, self.step = rows, target, folds[0].generator(seed), batch
        self.truth = _truth(classes)
        self.index = torch.from_numpy(np.stack([fold.train for fold in folds]))  # (folds, n)

    def epoch(self, weights: Tensor, decay: Tensor, fold_of: Tensor, optimiser: Optimiser) -> None:
        columns, _, width = weights.shape
        alive = fold_of.unique_consecutive()
        folds = len(alive)
        by_fold = weights.view(columns, folds, -1, width)  # (columns, folds, L2, width)
        permutation = torch.from_numpy(self.random.permutation(self.index.shape[1]))
        index = self.index[alive][:, permutation]  # (folds, n)
        truth = self.truth[self.target[index]]  # (folds, n, columns, 1)
        for chosen, y in zip(index.split(self.step, dim=1), truth.split(self.step, dim=1), strict=True):
            n = chosen.shape[1]
            x = self.rows.take(chosen.reshape(-1)).view(folds, n, width)
            logits = torch.bmm(x, by_fold.permute(1, 3, 0, 2).reshape(folds, width, -1))
            error = _probabilities(logits.view(folds * n, columns, -1)).view(folds, n, columns, -1).sub_(y)
            gradient = torch.bmm(error.view(folds, n, -1).transpose(1, 2), x).view(folds, columns, -1, width)
            gradient = gradient.transpose(0, 1).reshape_as(weights)
            optimiser.step(weights, gradient.mul_(1 / n).addcmul_(weights, decay))

    def keeps(self, running: Tensor, per_fold: int) -> Tensor:
        """A fold leaves as a whole, once its last head has stopped."""
        return running.view(-1, per_fold).any(dim=1).repeat_interleave(per_fold)


def _truth(classes: int) -> Tensor:
    """Class number to the probabilities that a head should give, (classes, columns, 1)."""
    return torch.tensor([[[0.0]], [[1.0]]]) if classes == 2 else torch.eye(classes)[:, :, None]


def _probabilities(logits: Tensor) -> Tensor:
    """(n, columns, heads), in place where there is one column."""
    return logits.mul_(2).sigmoid_() if logits.shape[1] == 1 else torch.softmax(logits, dim=1)


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
