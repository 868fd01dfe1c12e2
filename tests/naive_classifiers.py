"""The original toolkit's fits, one classifier after another, as plainly as they can be written."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold
from torch import nn

from trainables.senteval.protocol import Fit, Protocol


@dataclass
class OneByOne:
    """One softmax classifier: seeded, fitted with early stopping, then asked."""

    dim: int
    classes: int
    decay: float
    fit_settings: Fit
    seed: int = 1111

    def __post_init__(self) -> None:
        torch.manual_seed(self.seed)
        self.random = np.random.RandomState(self.seed)
        self.model = nn.Sequential(nn.Linear(self.dim, self.classes))
        optimisers = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}
        self.optimiser = optimisers[self.fit_settings.optimiser](self.model.parameters(), weight_decay=self.decay)
        self.epochs = 0

    def fit(self, x: np.ndarray, y: np.ndarray, dev: tuple[np.ndarray, np.ndarray] | None = None) -> float:
        """Returns the best accuracy on `dev`; without it, a random 5 % of the examples are held out."""
        if dev is None:
            order = self.random.permutation(len(x))
            rest = int(0.05 * len(x))
            dev = x[order[:rest]], y[order[:rest]]
            x, y = x[order[rest:]], y[order[rest:]]
        inputs, labels = torch.from_numpy(x), torch.from_numpy(y)
        best, failures, stop = -1.0, 0, False
        best_model = self.model
        while not stop and self.epochs <= self.fit_settings.max_epochs:
            self._train(inputs, labels)
            accuracy = self.score(*dev)
            if accuracy > best:
                best, best_model = accuracy, copy.deepcopy(self.model)
            else:
                stop = failures >= self.fit_settings.tenacity
                failures += 1
        self.model = best_model
        return best

    def predict(self, x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return self.model(torch.from_numpy(x)).argmax(dim=1).numpy()

    def score(self, x: np.ndarray, y: np.ndarray) -> float:
        return float((self.predict(x) == y).mean())

    def _train(self, x: torch.Tensor, y: torch.Tensor) -> None:
        loss_function = nn.CrossEntropyLoss()
        for _ in range(self.fit_settings.epoch_size):
            order = self.random.permutation(len(x))
            for low in range(0, len(x), self.fit_settings.batch):
                index = torch.from_numpy(order[low : low + self.fit_settings.batch])
                loss = loss_function(self.model(x.index_select(0, index)), y.index_select(0, index))
                loss.item()  # the original keeps a list of costs
                self.optimiser.zero_grad()
                loss.backward()
                self.optimiser.step()
        self.epochs += self.fit_settings.epoch_size


def folds(y: np.ndarray, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(StratifiedKFold(n_splits=count, shuffle=True, random_state=1111).split(np.zeros(len(y)), y))


def nested_cv(x: np.ndarray, y: np.ndarray, protocol: Protocol) -> tuple[float, float]:
    """Development and test accuracy in percent, as MR, CR, SUBJ and MPQA are scored."""
    dev, test = [], []
    for train, rest in folds(y, protocol.folds):
        accuracy, decay = choose(x[train], y[train], protocol)
        classifier = OneByOne(x.shape[1], 2, decay, protocol.fit)
        classifier.fit(x[train], y[train])
        dev.append(accuracy)
        test.append(round(100 * classifier.score(x[rest], y[rest]), 2))
    return float(np.mean(dev)), float(np.mean(test))


def choose(x: np.ndarray, y: np.ndarray, protocol: Protocol) -> tuple[float, float]:
    """The best mean accuracy over folds, in percent, and the L2 value that gave it."""
    means = []
    for decay in protocol.decays:
        scores = []
        for train, rest in folds(y, protocol.folds):
            classifier = OneByOne(x.shape[1], 2, decay, protocol.fit)
            scores.append(classifier.fit(x[train], y[train], (x[rest], y[rest])))
        means.append(round(100 * float(np.mean(scores)), 2))
    return max(means), protocol.decays[int(np.argmax(means))]
