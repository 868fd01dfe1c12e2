"""Classes of sentences or pairs, predicted by a softmax classifier. Held-out examples choose its L2 value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trainables.errors import UserError
from trainables.lazy_torch import torch
from trainables.senteval.effects import accuracy_effects, f1_effects
from trainables.senteval.embedded import Embedded
from trainables.senteval.examples import Split, TaskData
from trainables.senteval.folds import fold_numbers
from trainables.senteval.items import Answers
from trainables.senteval.kinds.contract import SHARE, TRAIN_DEV_TEST, KindScores, TaskKind
from trainables.senteval.protocol import Protocol
from trainables.senteval.task_fields import TaskFields
from trainables.to_device import to_device

if TYPE_CHECKING:
    from trainables.senteval.classifier import Classifiers, Fold


class Classification(TaskKind):
    """Base of kinds that differ in the examples that choose L2 and the examples that are scored."""

    target = "classes"
    least_deviation = 24.0
    predicted = "classes"
    reported = ("dev_accuracy", "test_accuracy")
    development = "dev_accuracy"
    main = "test_accuracy"
    chance = "test_accuracy"
    fewest: ClassVar[int] = 1
    """Number of examples that the largest class of the first split needs, so that there are folds."""

    def numbers_of(self, task: TaskFields) -> tuple[str, ...]:
        f1 = task.f1 and self._has(task, "test_f1")
        return (*super().numbers_of(task), *(("test_f1",) if f1 else ()))

    def range_of(self, number: str) -> tuple[float, float]:
        return SHARE

    def check(self, task: TaskFields) -> None:
        if task.scale is not None:
            super().check(task)

    def check_examples(self, task: TaskFields, data: TaskData, files: Mapping[str, Path]) -> None:
        super().check_examples(task, data, files)
        check_labels(task, data, files, self.fewest)
        if task.f1 and data.classes != 2:
            raise UserError(f"{task.name}: F1 is for two classes, not {data.classes}")

    def numbers(self, task: TaskFields, answers: Answers, protocol: Protocol | None) -> dict[str, float | None]:
        return {"test_accuracy": self.accuracy(answers, protocol)} | ({"test_f1": f1(answers)} if task.f1 else {})

    def accuracy(self, answers: Answers, protocol: Protocol | None) -> float | None:
        """Return the accuracy in percent; None if there can be no folds."""
        return 100 * float((answers.predicted == answers.gold).mean())

    def effects(self, task: TaskFields, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray:
        if number == "test_f1":
            return f1_effects(answers.predicted, answers.gold)
        return accuracy_effects(answers.predicted == answers.gold)

    def hits(self, number: str, answers: Answers) -> np.ndarray | None:
        return answers.predicted == answers.gold if number == "test_accuracy" else None

    def shares(self, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray | None:
        if number != "test_accuracy":
            return None
        return 100 * (answers.predicted == answers.gold) / len(answers.gold)

    def development_part(self, data: TaskData) -> Split:
        from trainables.senteval.probe import probed_part

        return probed_part(data)

    def development_score(self, given: Embedded) -> float:
        """Return the accuracy of a linear probe. Compare it with other probes only, not with SentEval's classifiers."""
        from trainables.senteval.probe import probe_accuracy

        return probe_accuracy(given.features("dev"), given.labels("dev"))


class NestedCrossValidation(Classification):
    """Outer folds are tested, inner folds of the rest choose L2, and the final fits hold out 5 % to stop early.

    The development accuracy is the mean over outer folds of the best mean over inner folds, the test accuracy the mean
    over outer folds. Folds depend on the gold labels only.
    """

    name = "nested_cv"
    splits = ("all",)
    splits_without_test = ("all",)
    fewest = 3

    def score(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        from trainables.senteval.classifier import fit_classifiers, hold_out

        rows, labels, classes = given.rows("all"), given.labels("all"), given.data.classes
        outer, means = self._chosen(given, protocol, seed)
        chosen = means.argmax(axis=1)

        refits = [hold_out(fold.train, seed) for fold in outer]
        decays = np.array(protocol.decays)[chosen, None]
        classifiers = fit_classifiers(rows, labels, classes, refits, decays, protocol.fit, seed, own_order=True)
        predicted = np.empty(len(labels), dtype=np.int64)
        for number, fold in enumerate(outer):
            tested = rows.take(to_device(torch.from_numpy(fold.dev), rows.device))
            predicted[fold.dev] = classifiers.predict(tested, [number])[:, 0]
        return KindScores((Answers(predicted, labels),), [len(labels), len(labels)], _development(means))

    def score_without_test(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        _, means = self._chosen(given, protocol, seed)
        return KindScores((), len(given.data.splits["all"]), _development(means))

    def _chosen(self, given: Embedded, protocol: Protocol, seed: int) -> tuple[list[Fold], np.ndarray]:
        """Return the outer folds, and for each the mean accuracy over its inner folds, (outer, L2)."""
        from trainables.senteval.classifier import Fold, fast_precision, fit_classifiers

        rows, labels, classes = given.rows("all"), given.labels("all"), given.data.classes
        outer = _folds(labels, protocol.folds)
        parts = [_folds(labels[fold.train], protocol.folds) for fold in outer]
        inner = [
            Fold(fold.train[part.train], fold.train[part.dev])
            for fold, inner_folds in zip(outer, parts, strict=True)
            for part in inner_folds
        ]
        classifiers = fit_classifiers(
            rows, labels, classes, inner, protocol.decays, protocol.fit, seed, precision=fast_precision(rows.device)
        )
        sizes = np.array([len(part.dev) for part in inner])[:, None]
        accuracy = classifiers.dev_correct.reshape(len(inner), -1) / sizes
        of_outer = np.split(accuracy, np.cumsum([len(inner_folds) for inner_folds in parts])[:-1])
        return outer, _rounded(np.array([accuracies.mean(axis=0) for accuracies in of_outer]))

    def accuracy(self, answers: Answers, protocol: Protocol | None) -> float | None:
        if protocol is None:
            return super().accuracy(answers, protocol)
        fold, hits = fold_numbers(answers.gold, protocol.folds), answers.predicted == answers.gold
        if fold is None:
            return None
        return float(100 * np.mean([hits[fold == number].mean() for number in range(fold.max() + 1)]))

    def effects(self, task: TaskFields, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray:
        fold = None if protocol is None else fold_numbers(answers.gold, protocol.folds)
        if number != "test_accuracy" or fold is None:
            return super().effects(task, number, answers, protocol)
        return accuracy_effects(answers.predicted == answers.gold, int(fold.max()) + 1)

    def hits(self, number: str, answers: Answers) -> np.ndarray | None:
        return None

    def shares(self, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray | None:
        """Return shares such that each fold counts the same, whatever its size."""
        if protocol is None or number != "test_accuracy":
            return super().shares(number, answers, protocol)
        fold = fold_numbers(answers.gold, protocol.folds)
        if fold is None:
            return None
        return 100 * (answers.predicted == answers.gold) / ((fold.max() + 1) * np.bincount(fold)[fold])


class KFold(Classification):
    """Folds of the train split choose L2. A final fit, with 5 % held out to stop early, is scored on the test split."""

    name = "kfold"
    splits = ("train", "test")
    optional = ("test",)
    splits_without_test = ("train",)
    fewest = 2

    def score(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        from trainables.senteval.classifier import fit_classifiers, hold_out

        rows, labels, classes = given.rows("train"), given.labels("train"), given.data.classes
        means = self._chosen(given, protocol, seed)
        decay = protocol.decays[int(means.argmax())]

        refit = hold_out(np.arange(len(labels)), seed)
        classifier = fit_classifiers(rows, labels, classes, [refit], [decay], protocol.fit, seed)
        predicted, gold = classifier.predict(given.all_rows("test"))[:, 0], given.labels("test")
        return KindScores((Answers(predicted, gold),), [len(labels), len(gold)], _development(means))

    def score_without_test(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        return KindScores((), len(given.data.splits["train"]), _development(self._chosen(given, protocol, seed)))

    def _chosen(self, given: Embedded, protocol: Protocol, seed: int) -> np.ndarray:  # (L2,)
        """Return the mean accuracy over the folds for each L2 value, in percent."""
        from trainables.senteval.classifier import fit_classifiers

        rows, labels, classes = given.rows("train"), given.labels("train"), given.data.classes
        folds = _folds(labels, protocol.folds)
        classifiers = fit_classifiers(rows, labels, classes, folds, protocol.decays, protocol.fit, seed, own_order=True)
        sizes = np.array([len(fold.dev) for fold in folds])[:, None]
        return _rounded((classifiers.dev_correct.reshape(len(folds), -1) / sizes).mean(axis=0))


class TrainDevTest(Classification):
    """The given development split stops the fits and chooses L2."""

    name = "split"
    splits = TRAIN_DEV_TEST
    splits_without_test = ("train", "dev")

    def score(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        classifiers, dev = self._fitted(given, protocol, seed)
        accuracy = _rounded(classifiers.dev_correct / dev)
        predicted = classifiers.predict(given.all_rows("test"), [int(accuracy.argmax())])[:, 0]
        gold = given.labels("test")
        return KindScores((Answers(predicted, gold),), [dev, len(gold)], _best_of(classifiers, dev))

    def score_without_test(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        classifiers, dev = self._fitted(given, protocol, seed)
        return KindScores((), dev, _best_of(classifiers, dev))

    def _fitted(self, given: Embedded, protocol: Protocol, seed: int) -> tuple[Classifiers, int]:
        """Return the classifiers, one for each L2 value, and the number of development examples."""
        from trainables.senteval.classifier import Fold, fit_classifiers

        labels = given.labels("train", "dev")
        train = len(given.data.splits["train"])
        fold = Fold(np.arange(train), np.arange(train, len(labels)))
        rows = given.rows("train", "dev")
        classifiers = fit_classifiers(rows, labels, given.data.classes, [fold], protocol.decays, protocol.fit, seed)
        return classifiers, len(fold.dev)


def _development(means: np.ndarray) -> dict[str, float]:
    """Return the accuracy of the best L2 value, from (..., L2) in percent; averaged over outer folds, if any."""
    return {"dev_accuracy": float(means.max(axis=-1).mean())}


def _best_of(classifiers: Classifiers, examples: int) -> dict[str, float]:
    """Return the accuracy of the best classifier, in percent."""
    return {"dev_accuracy": 100 * float(classifiers.dev_correct.max() / examples)}


def check_labels(task: TaskFields, data: TaskData, files: Mapping[str, Path], fewest: int) -> None:
    """Raise `UserError` if the first split has one label only, or no label with `fewest` examples."""
    name, split = next(iter(data.splits.items()))
    labels, counts = np.unique(split.labels, return_counts=True)
    if len(labels) < 2:
        raise UserError(f"{task.name}: all {len(split):,} examples for {name} in {files[name]} have one label")
    if counts.max() < fewest:
        raise UserError(
            f"{task.name}: {files[name]} holds {len(split):,} examples of {len(labels):,} labels, and no label has "
            f"more than {counts.max()}; it takes {fewest} of one at least"
        )


def f1(answers: Answers) -> float:
    """Return the F1 of class 1, in percent."""
    predicted, gold = answers.predicted == 1, answers.gold == 1
    return 100 * 2 * int((predicted & gold).sum()) / max(1, int(predicted.sum() + gold.sum()))


def _folds(labels: np.ndarray, folds: int) -> list[Fold]:
    from trainables.senteval.classifier import Fold

    numbers = fold_numbers(labels, folds)
    if numbers is None:
        raise UserError(f"{len(labels)} examples are too few for folds, for no class has two")
    return [Fold((numbers != fold).nonzero()[0], (numbers == fold).nonzero()[0]) for fold in range(numbers.max() + 1)]


def _rounded(accuracy: np.ndarray) -> np.ndarray:
    """Return percent, rounded to two decimals as the original does before it chooses: ties go to the smaller L2."""
    return np.asarray(np.round(100 * accuracy, 2))
