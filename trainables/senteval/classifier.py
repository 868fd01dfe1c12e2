"""All classifiers of a task in one fit: each fold with each L2 value is a block of columns in one stacked linear layer.

The original toolkit fits one softmax classifier after another, 410 for a nested cross-validation. They all read the
same examples, so here one matrix product a step serves them all: rows are permuted once an epoch, a step takes the next
rows, and a mask marks the rows that train each classifier. A step has as many rows as give each classifier about
`batch` rows of its own, and the loss of a classifier is the mean over its own rows. A classifier that has stopped early
is removed from the product. Gradients are written out, since a linear layer needs no autograd.

Two classes need one column. Softmax of two columns (w0, w1) depends on w1 - w0 only, and the two gradients are
-g and g. From w0 = -w1 every step of Adam or RMSprop, coupled weight decay included, keeps w0 = -w1, because both
optimisers are odd in the gradient. So one column w = w1 with the logit 2 w.x, the gradient g = mean((p - y) x) and
the plain learning rate is that pair. The common part (w0 + w1) / 2 of a random start, which changes no probability,
is left out: w starts at (w1 - w0) / 2 of the usual start.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.random import RandomState
from numpy.typing import ArrayLike
from torch import Tensor, nn

from trainables.machine import native_bf16
from trainables.senteval.embedded import FeatureRows
from trainables.senteval.protocol import Fit
from trainables.to_device import to_device

_BLOCK_ROWS = 16_384
"""Rows that are gathered at once. Limits the memory of a permuted copy."""


@dataclass(frozen=True)
class Fold:
    """Row numbers of a fold: `train` is fitted; `dev` stops the fit early and scores it."""

    train: np.ndarray
    dev: np.ndarray
    drawn: int = 0
    """Length of the permutation that the fold's generator draws before the first epoch; 0: none."""

    def generator(self, seed: int) -> RandomState:
        random = RandomState(seed)
        if self.drawn:
            random.permutation(self.drawn)
        return random


def hold_out(train: np.ndarray, seed: int) -> Fold:
    """Return a fold that holds out a random twentieth of the training rows, on which its fit stops early."""
    order = train[RandomState(seed).permutation(len(train))]
    held = max(1, int(0.05 * len(train)))
    return Fold(order[held:], order[:held], drawn=len(train))


@dataclass(frozen=True)
class Classifiers:
    """Fitted classifiers, on the device of their rows.

    Their order: fold 0 with each L2 value, fold 1 with each L2 value, ...
    """

    weights: Tensor  # (classifiers, columns, width)
    dev_correct: np.ndarray  # (classifiers,) correct answers on the classifier's dev rows

    def predict(self, rows: Tensor, classifiers: Sequence[int] | slice = slice(None)) -> np.ndarray:
        """Return the class numbers that some of the classifiers predict, (rows, classifiers)."""
        return _classes(rows, self.weights[classifiers]).cpu().numpy()


def fit_classifiers(
    rows: FeatureRows,
    labels: np.ndarray,
    classes: int,
    folds: Sequence[Fold],
    decays: ArrayLike,
    fit: Fit,
    seed: int,
    *,
    own_order: bool = False,
    precision: torch.dtype = torch.float32,
) -> Classifiers:
    """Fit one classifier for every fold and L2 value. Equals fitting one after another, except for the row order.

    `decays`: L2 values, (L2,) or (folds, L2). With one fold, or `own_order`, the row order is the original toolkit's,
    too; `own_order` costs more. `precision` is the type of products if folds share a row order; everything else is
    fp32.
    """
    per_fold = np.atleast_2d(np.asarray(decays)).shape[1]
    decay = np.broadcast_to(np.asarray(decays, dtype=np.float32), (len(folds), per_fold))
    if not own_order:
        return _fit(partial(_SharedOrder, precision), rows, labels, classes, folds, decay, fit, seed)
    # Folds with the same number of steps per epoch can share a stack.
    alike: dict[int, list[int]] = {}
    for number, fold in enumerate(folds):
        alike.setdefault(-(-len(fold.train) // fit.batch), []).append(number)
    stacks = [
        _fit(_OwnOrder, rows, labels, classes, [folds[i] for i in group], decay[group], fit, seed)
        for group in alike.values()
    ]
    classifiers = [fold * per_fold + i for group in alike.values() for fold in group for i in range(per_fold)]
    order = np.argsort(classifiers)
    return Classifiers(
        torch.cat([stack.weights for stack in stacks])[to_device(torch.from_numpy(order), rows.device)],
        np.concatenate([stack.dev_correct for stack in stacks])[order],
    )


def fast_precision(device: torch.device) -> torch.dtype:
    """Return bf16 if the device is known to multiply it natively, else fp32. ARM processors have fp32: not every build
    of torch uses their bf16."""
    arm = device.type == "cpu" and platform.machine().lower() in ("arm64", "aarch64")
    return torch.bfloat16 if native_bf16(device) and not arm else torch.float32


def _fit(
    row_order: Callable[..., _SharedOrder | _OwnOrder],
    rows: FeatureRows,
    labels: np.ndarray,
    classes: int,
    folds: Sequence[Fold],
    decays: np.ndarray,  # (folds, L2)
    fit: Fit,
    seed: int,
) -> Classifiers:
    device = rows.device
    target = torch.from_numpy(np.ascontiguousarray(labels, dtype=np.int64)).to(device)
    stack = row_order(rows, target, classes, folds, fit.batch, seed)
    dev = [rows.take(to_device(torch.from_numpy(fold.dev), device)) for fold in folds]
    dev_target = [target[to_device(torch.from_numpy(fold.dev), device)] for fold in folds]

    per_fold = decays.shape[1]
    decay = torch.tensor(decays.reshape(-1, 1, 1), device=device)  # (classifiers, 1, 1)
    classifiers = len(decay)
    start = initial_weights(classes, rows.dim, dev[0].shape[1], seed).to(device)
    weights = start.repeat(classifiers, 1, 1)  # (classifiers, columns, width)
    optimiser = ClassifierOptimiser(fit.optimiser, weights)

    stacked = torch.arange(classifiers, device=device)  # the classifiers that are still in the stack
    best = weights.clone()
    best_correct = torch.full((classifiers,), -1, dtype=torch.long, device=device)
    failures = torch.zeros(classifiers, dtype=torch.long, device=device)
    epochs = 0
    while len(stacked) and epochs <= fit.max_epochs:
        fold_of = stacked // per_fold
        for _ in range(fit.epoch_size):
            stack.epoch(weights, decay, fold_of, optimiser)
        epochs += fit.epoch_size
        correct = _dev_correct(dev, dev_target, weights, fold_of)
        running = failures[stacked] <= fit.tenacity
        improved = running & (correct > best_correct[stacked])
        best[stacked[improved]] = weights[improved]
        best_correct[stacked[improved]] = correct[improved]
        failures[stacked[running & ~improved]] += 1
        keep = stack.keeps(failures[stacked] <= fit.tenacity, per_fold)
        if not keep.all():
            stacked, weights, decay = stacked[keep], weights[keep], decay[keep]
            optimiser.keep(keep)
    return Classifiers(best, best_correct.cpu().numpy())


class _SharedOrder:
    """Trains all folds in one order of the rows; a mask marks the rows of each fold."""

    def __init__(
        self,
        precision: torch.dtype,
        rows: FeatureRows,
        target: Tensor,
        classes: int,
        folds: Sequence[Fold],
        batch: int,
        seed: int,
    ) -> None:
        self.precision, self.rows, self.target = precision, rows, target
        self.random = folds[0].generator(seed)
        self.truth = _truth(classes).to(rows.device)
        mask = torch.zeros(len(target), len(folds))
        for column, fold in enumerate(folds):
            mask[torch.from_numpy(fold.train), column] = 1.0
        # Rows that train no fold are never read; one fold keeps its own order.
        used = mask.any(dim=1).nonzero().squeeze(1)
        self.index = used if len(folds) > 1 else torch.from_numpy(folds[0].train)
        self.mask = mask[self.index].T.contiguous().to(rows.device)  # (folds, rows)
        own = sum(len(fold.train) for fold in folds) / len(folds)
        self.step = max(1, round(batch * len(self.index) / own))
        self.index = self.index.to(rows.device)

    def epoch(self, weights: Tensor, decay: Tensor, fold_of: Tensor, optimiser: ClassifierOptimiser) -> None:
        classifiers, columns, width = weights.shape
        flat = weights.view(-1, width)  # (classifiers * columns, width)
        decay = decay.expand(classifiers, columns, 1).reshape(-1, 1)
        permutation = to_device(torch.from_numpy(self.random.permutation(len(self.index))), self.index.device)
        for order in permutation.split(self.step * max(1, _BLOCK_ROWS // self.step)):
            index = self.index[order]
            block = zip(
                self.rows.take(index).to(self.precision).split(self.step),
                self.truth.index_select(1, self.target[index]).split(self.step, dim=1),
                self._shares(order).split(self.step, dim=1),
                strict=True,
            )
            for x, y, share in block:  # (n, width), (columns, n), (folds, n)
                logits = (flat.to(self.precision) @ x.T).float()
                error = _probabilities(logits.view(classifiers, columns, -1)).sub_(y)
                error.mul_(share.index_select(0, fold_of)[:, None])
                gradient = (error.view(-1, len(x)).to(self.precision) @ x).float()
                optimiser.step(weights, gradient.addcmul_(flat, decay).view_as(weights))

    def keeps(self, running: Tensor, per_fold: int) -> Tensor:
        """Return which classifiers stay in the stack: those that are still running."""
        return running

    def _shares(self, order: Tensor) -> Tensor:
        """Return (folds, rows): 1 / the fold's number of rows in the step if the row trains the fold, else 0."""
        mask = self.mask.index_select(1, order)
        steps = nn.functional.pad(mask, (0, -len(order) % self.step)).view(len(mask), -1, self.step)
        return (steps / steps.sum(dim=2, keepdim=True).clamp(min=1)).view(len(mask), -1)[:, : len(order)]


class _OwnOrder:
    """Trains each fold on its own rows, in the original toolkit's order."""

    def __init__(
        self, rows: FeatureRows, target: Tensor, classes: int, folds: Sequence[Fold], batch: int, seed: int
    ) -> None:
        self.rows, self.target, self.step = rows, target, batch
        self.truth = _truth(classes).to(rows.device)
        self.train = [torch.from_numpy(fold.train) for fold in folds]
        self.random = [fold.generator(seed) for fold in folds]

    def epoch(self, weights: Tensor, decay: Tensor, fold_of: Tensor, optimiser: ClassifierOptimiser) -> None:
        _, columns, width = weights.shape
        alive = fold_of.unique_consecutive().tolist()
        by_fold = weights.view(len(alive), -1, width)  # (folds, L2 * columns, width)
        # Short folds are padded with a row that the mean ignores.
        own = [self.train[i][torch.from_numpy(self.random[i].permutation(len(self.train[i])))] for i in alive]
        ones = [torch.ones(len(part)) for part in own]
        index, mask = (  # (folds, n)
            to_device(nn.utils.rnn.pad_sequence(part, batch_first=True), self.target.device) for part in (own, ones)
        )
        truth = self.truth.T[self.target[index]].transpose(1, 2).contiguous()  # (folds, columns, n)
        steps = zip(
            index.split(self.step, dim=1), truth.split(self.step, dim=2), mask.split(self.step, dim=1), strict=True
        )
        for chosen, y, used in steps:
            n = chosen.shape[1]
            x = self.rows.take(chosen.reshape(-1)).view(len(alive), n, width)
            logits = torch.bmm(by_fold, x.transpose(1, 2))  # (folds, L2 * columns, n)
            error = _probabilities(logits.view(len(alive), -1, columns, n)).sub_(y[:, None])
            error.mul_((used / used.sum(dim=1, keepdim=True))[:, None, None])
            gradient = torch.bmm(error.view(len(alive), -1, n), x).view_as(weights)
            optimiser.step(weights, gradient.addcmul_(weights, decay))

    def keeps(self, running: Tensor, per_fold: int) -> Tensor:
        """Keep all classifiers of a fold until its last classifier has stopped."""
        return running.view(-1, per_fold).any(dim=1).repeat_interleave(per_fold)


class ClassifierOptimiser:
    """Adam or RMSprop with torch's defaults over the stacked weights; gradients must include the weight decay."""

    def __init__(self, name: str, weights: Tensor) -> None:
        self.name = name
        self.steps = torch.tensor(0.0, device=weights.device)
        self.first = torch.zeros_like(weights)
        self.second = torch.zeros_like(weights)

    def keep(self, classifiers: Tensor) -> None:
        """Keep the state of some classifiers only; `classifiers` is a mask, (classifiers,)."""
        self.first, self.second = self.first[classifiers], self.second[classifiers]

    def step(self, weights: Tensor, gradient: Tensor) -> None:
        if self.name == "rmsprop":
            self.second.mul_(0.99).addcmul_(gradient, gradient, value=0.01)
            weights.addcdiv_(gradient, self.second.sqrt().add_(1e-8), value=-0.01)
            return
        self.steps += 1
        # What torch.optim.Adam(fused=True) calls; its checks would cost as much as a small step itself.
        torch._fused_adam_(
            [weights],
            [gradient],
            [self.first],
            [self.second],
            [],
            [self.steps],
            lr=1e-3,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )


def initial_weights(classes: int, dim: int, width: int, seed: int) -> Tensor:
    """Return torch's initial linear layer, uniform within 1/sqrt(dim), as (columns, width) with the bias at `dim`."""
    generator = torch.Generator().manual_seed(seed)
    bound = 1 / math.sqrt(dim)
    start = torch.zeros(classes, width)
    start[:, :dim] = torch.empty(classes, dim).uniform_(-bound, bound, generator=generator)
    start[:, dim] = torch.empty(classes).uniform_(-bound, bound, generator=generator)
    return (start[1:] - start[:1]) / 2 if classes == 2 else start


def _truth(classes: int) -> Tensor:
    """Return the target probabilities of each class, (columns, classes)."""
    return torch.tensor([[0.0, 1.0]]) if classes == 2 else torch.eye(classes)


def _probabilities(logits: Tensor) -> Tensor:
    """Return the probabilities of (..., columns, rows) over the columns; in place for one column. With few columns as
    the last dimension torch takes twenty times as long."""
    return logits.mul_(2).sigmoid_() if logits.shape[-2] == 1 else torch.softmax(logits, dim=-2)


def _dev_correct(dev: Sequence[Tensor], target: Sequence[Tensor], weights: Tensor, fold_of: Tensor) -> Tensor:
    """Count each classifier's correct answers on its own fold's dev rows. Classifiers are sorted by fold."""
    correct = torch.empty_like(fold_of)
    first = 0
    for fold, count in zip(*(part.tolist() for part in fold_of.unique_consecutive(return_counts=True)), strict=True):
        last = first + count
        predicted = _classes(dev[fold], weights[first:last])
        correct[first:last] = (predicted == target[fold][:, None]).sum(dim=0)
        first = last
    return correct


def _classes(rows: Tensor, weights: Tensor) -> Tensor:
    """Return class numbers, (rows, classifiers), from (rows, width) and (classifiers, columns, width)."""
    classifiers, columns, width = weights.shape
    logits = (rows @ weights.view(-1, width).T).view(len(rows), classifiers, columns)
    return (logits[:, :, 0] > 0).long() if columns == 1 else logits.argmax(dim=2)
