"""One function for each kind of task (`scorers.py`): embeddings and examples in, scores and test predictions out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from trainables.errors import UserError
from trainables.registry import load
from trainables.senteval.classifier import Fold, Rows, fast_precision, fit_classifiers, hold_out
from trainables.senteval.correlation import cosine, pearson, spearman
from trainables.senteval.examples import Split, TaskData
from trainables.senteval.features import Pairs, Singles
from trainables.senteval.protocol import Protocol
from trainables.senteval.regressor import fit_regressor, onto_bins
from trainables.senteval.retrieval import fit_projections
from trainables.senteval.scorers import SCORERS, Numbers
from trainables.senteval.tasks import Task
from trainables.to_device import to_device

Lookup = Callable[[list[str]], Tensor]
"""Sentences to their row numbers in the embeddings, (n,) int64."""


@dataclass(frozen=True)
class Scores:
    """What a task is scored with.

    `numbers` are those that the task's kind names, and `examples`: how many were scored, on dev and test or, without a
    dev part, on test alone. `predictions` and `gold` hold what was predicted for each test example and what is right,
    in the order in which the task's reader gives them. `parts` are the sizes of the sub-corpora of which these consist,
    in their order. `regressed` is what a trained regressor predicts for the same examples. `dev` are the predictions
    and right answers of the development part, where these do not depend on a fit.
    """

    numbers: Numbers
    predictions: np.ndarray
    gold: np.ndarray
    parts: np.ndarray | None = None
    regressed: np.ndarray | None = None
    dev: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True)
class Embedded:
    """A task's examples with the embeddings of the union of all sentences."""

    task: Task
    data: TaskData
    embeddings: Tensor  # (unique sentences, dim) float32
    lookup: Lookup

    def rows(self, *names: str) -> Rows:
        """Feature rows of the named splits, one after another."""
        splits = [self.data.splits[name] for name in names]
        left = torch.cat([self.lookup(split.left) for split in splits])
        if splits[0].right is None:
            return Singles(self.embeddings, left)
        right = torch.cat([self.lookup(split.right or []) for split in splits])
        return Pairs(self.embeddings, left, right, both=self.task.both_embeddings)

    def labels(self, *names: str) -> np.ndarray:
        """Labels of the named splits, one after another."""
        return np.concatenate([self.data.splits[name].labels for name in names])

    def cosine(self, split: Split) -> np.ndarray:
        """(pairs,): how similar the sentences of each pair are."""
        return cosine(self.embeddings, self.lookup(split.left), self.lookup(split.right or []))


def score(given: Embedded, protocol: Protocol, seed: int) -> Scores:
    """Score a task by its kind, under the protocol but for what the task's own entry says of fits."""
    task = given.task
    fit = replace(
        protocol.fit,
        epoch_size=task.epoch_size or protocol.fit.epoch_size,
        max_epochs=task.max_epochs or protocol.fit.max_epochs,
    )
    settings = replace(protocol, fit=fit, decays=task.decays or protocol.decays)
    scores: Scores = load(SCORERS[task.kind].function)(given, settings, seed)
    if not task.f1:
        return scores
    if given.data.classes != 2:
        raise UserError(f"{task.name}: F1 is for two classes, not {given.data.classes}")
    return replace(scores, numbers={**scores.numbers, "test_f1": _f1(scores.predictions, scores.gold)})


def nested_cv(given: Embedded, protocol: Protocol, seed: int) -> Scores:
    """Outer folds are test parts; inner folds of the rest choose L2; the refit holds out 5 % to stop.

    The development accuracy is the mean over outer folds of the best mean over inner folds.
    """
    rows, labels, classes = given.rows("all"), given.labels("all"), given.data.classes
    outer = _folds(labels, protocol.folds)
    inner = [
        Fold(fold.train[part.train], fold.train[part.dev])
        for fold in outer
        for part in _folds(labels[fold.train], protocol.folds)
    ]
    classifiers = fit_classifiers(
        rows, labels, classes, inner, protocol.decays, protocol.fit, seed, precision=fast_precision(rows.device)
    )
    sizes = np.array([len(part.dev) for part in inner])[:, None]
    accuracy = classifiers.dev_correct.reshape(len(inner), -1) / sizes
    means = _rounded(accuracy.reshape(len(outer), protocol.folds, -1).mean(axis=1))  # (outer, L2)
    chosen = means.argmax(axis=1)

    refits = [hold_out(fold.train, seed) for fold in outer]
    decays = np.array(protocol.decays)[chosen, None]
    classifiers = fit_classifiers(rows, labels, classes, refits, decays, protocol.fit, seed, apart=True)
    predictions = np.empty(len(labels), dtype=np.int64)
    for number, fold in enumerate(outer):
        predictions[fold.dev] = classifiers.predict(
            rows.take(to_device(torch.from_numpy(fold.dev), rows.device)), [number]
        )[:, 0]
    test = np.mean([(predictions[fold.dev] == labels[fold.dev]).mean() for fold in outer])
    numbers: Numbers = {
        "dev_accuracy": float(means.max(axis=1).mean()),
        "test_accuracy": float(100 * test),
        "examples": [len(labels), len(labels)],
    }
    return Scores(numbers, predictions, labels)


def kfold(given: Embedded, protocol: Protocol, seed: int) -> Scores:
    """Folds of the train part choose L2; one refit, 5 % held out to stop, is scored on the test part."""
    rows, labels = given.rows("train"), given.labels("train")
    classes = given.data.classes
    folds = _folds(labels, protocol.folds)
    classifiers = fit_classifiers(rows, labels, classes, folds, protocol.decays, protocol.fit, seed, apart=True)
    sizes = np.array([len(fold.dev) for fold in folds])[:, None]
    means = _rounded((classifiers.dev_correct.reshape(len(folds), -1) / sizes).mean(axis=0))
    decay = protocol.decays[int(means.argmax())]

    refit = hold_out(np.arange(len(labels)), seed)
    classifier = fit_classifiers(rows, labels, classes, [refit], [decay], protocol.fit, seed)
    gold = given.labels("test")
    predictions = classifier.predict(_all(given.rows("test"), len(gold)))[:, 0]
    numbers: Numbers = {
        "dev_accuracy": float(means.max()),
        "test_accuracy": 100 * float((predictions == gold).mean()),
        "examples": [len(labels), len(gold)],
    }
    return Scores(numbers, predictions, gold)


def split(given: Embedded, protocol: Protocol, seed: int) -> Scores:
    """The given development part stops the fits and chooses L2."""
    labels = given.labels("train", "dev")
    train = len(given.data.splits["train"])
    fold = Fold(np.arange(train), np.arange(train, len(labels)))
    rows = given.rows("train", "dev")
    classifiers = fit_classifiers(rows, labels, given.data.classes, [fold], protocol.decays, protocol.fit, seed)
    accuracy = _rounded(classifiers.dev_correct / len(fold.dev))
    gold = given.labels("test")
    predictions = classifiers.predict(_all(given.rows("test"), len(gold)), [int(accuracy.argmax())])[:, 0]
    numbers: Numbers = {
        "dev_accuracy": 100 * float(classifiers.dev_correct.max() / len(fold.dev)),
        "test_accuracy": 100 * float((predictions == gold).mean()),
        "examples": [len(fold.dev), len(gold)],
    }
    return Scores(numbers, predictions, gold)


def similarity(given: Embedded, protocol: Protocol, seed: int) -> Scores:
    """STS12 to STS16: `all` concatenates the sub-corpora, `mean` averages them, `wmean` weights them by size."""
    parts = [(given.cosine(part), part.labels) for part in given.data.splits.values()]
    predictions, gold = (np.concatenate(side) for side in zip(*parts, strict=True))
    sizes = [len(scores) for scores, _ in parts]
    numbers: Numbers = {}
    for name, correlation in (("spearman", spearman), ("pearson", pearson)):
        each = [100 * correlation(scores, labels) for scores, labels in parts]
        numbers[f"{name}_all"] = 100 * correlation(predictions, gold)
        numbers[f"{name}_mean"] = float(np.mean(each))
        numbers[f"{name}_wmean"] = float(np.average(each, weights=sizes))
    numbers["examples"] = len(gold)
    return Scores(numbers, predictions, gold, np.array(sizes))


def relatedness(given: Embedded, protocol: Protocol, seed: int) -> Scores:
    """STS benchmark, SICK relatedness and the like, by cosine and by the trained regressor."""
    splits = given.data.splits
    dev, test = splits["dev"], splits["test"]
    train_rows, dev_rows, test_rows = (_all(given.rows(name), len(splits[name])) for name in ("train", "dev", "test"))
    train = onto_bins(splits["train"].labels, given.task.scale or splits["train"].scale)
    predict = fit_regressor(train_rows, train, dev_rows, dev.labels, given.rows("dev").dim, seed)
    regressed = predict(test_rows)
    predictions, on_dev = given.cosine(test), given.cosine(dev)
    numbers: Numbers = {
        "dev_spearman_cosine": 100 * spearman(on_dev, dev.labels),
        "test_spearman_cosine": 100 * spearman(predictions, test.labels),
        "dev_pearson_regressor": 100 * pearson(predict(dev_rows), dev.labels),
        "test_spearman_regressor": 100 * spearman(regressed, test.labels),
        "test_pearson_regressor": 100 * pearson(regressed, test.labels),
        "examples": [len(dev), len(test)],
    }
    return Scores(numbers, predictions, test.labels, regressed=regressed, dev=(on_dev, dev.labels))


def retrieval(given: Embedded, protocol: Protocol, seed: int) -> Scores:
    """Caption and image retrieval; `test_recall` is the mean of R@1, 5 and 10 both ways."""
    splits = given.data.splits
    parts = {name: (given.embeddings[given.lookup(part.left)], part) for name, part in splits.items()}
    return Scores(*fit_projections(parts, seed))


def _f1(predictions: np.ndarray, gold: np.ndarray) -> float:
    """Of class 1, in percent."""
    true = int(((predictions == 1) & (gold == 1)).sum())
    return 100 * 2 * true / max(1, int((predictions == 1).sum() + (gold == 1).sum()))


def _folds(labels: np.ndarray, folds: int) -> list[Fold]:
    """The split never follows the seed of the classifiers: every model is scored on the same folds."""
    from sklearn.model_selection import StratifiedKFold

    if np.bincount(labels).max() < folds:
        raise UserError(f"{len(labels)} examples are too few for {folds} folds with every class in each")
    parts = StratifiedKFold(n_splits=folds, shuffle=True, random_state=1111).split(np.zeros(len(labels)), labels)
    return [Fold(train, dev) for train, dev in parts]


def _rounded(accuracy: np.ndarray) -> np.ndarray:
    """Percent with two decimals, as the original rounds before it chooses: ties go to the smaller L2."""
    return np.round(100 * accuracy, 2)


def _all(rows: Rows, count: int) -> Tensor:
    return rows.take(torch.arange(count))
