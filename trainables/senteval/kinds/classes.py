"""A user's labelled texts or pairs: how well logistic regression and nearest neighbours predict their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trainables.arrays import sample_rows
from trainables.errors import UserError, choices, shown
from trainables.labels import LABELS
from trainables.lazy_torch import torch
from trainables.senteval.effects import accuracy_effects
from trainables.senteval.embedded import Embedded
from trainables.senteval.examples import Split, TaskData
from trainables.senteval.items import Answers, anchor_groups
from trainables.senteval.kinds.by_parts import MeanOverItems
from trainables.senteval.kinds.classification import check_labels
from trainables.senteval.kinds.contract import TRAIN_DEV_TEST
from trainables.senteval.protocol import Protocol
from trainables.senteval.task_fields import TaskFields
from trainables.tabular import are_ambiguous

if TYPE_CHECKING:
    from trainables.senteval.table import TaskTable

NEIGHBOURS = "neighbours"
"""Name of the array of classes that nearest neighbours predict, stored beside those of the regression."""


class TextClasses(MeanOverItems):
    """Accuracies of two classifiers of embeddings (`logistic.py`), on rows that they were not fitted to.

    Embeddings have length 1, so a saved model's last Normalize changes no score. Classifiers for `dev` are fitted to
    `train`, those for `test` to `train` and `dev`. A task's first split is predicted in folds. Equal texts, and pairs
    that share a text, are in one fold, and count as one draw.
    """

    least_deviation = 24.0
    name = "classes"
    splits = TRAIN_DEV_TEST
    optional = TRAIN_DEV_TEST
    splits_without_test = ("train", "dev")
    target = "classes"
    predicted = "classes"
    measures = ("accuracy", "knn_accuracy")
    checking_number = "test_knn_accuracy"
    columns = "sentence, or sentence1 and sentence2, and label"
    scenes = "trainables.corpora.scenes_tasks:classes"

    def fits(self, table: TaskTable) -> bool:
        if not table.paired:
            return table.has("sentence", "label")
        labels = table.pair_labels
        if len(labels) == 1:
            raise UserError(
                f"all {len(table.lines):,} pairs in {table.path} have one label, {shown(labels[0])}; it needs two"
            )
        (column,) = table.roles["label"]
        if are_ambiguous(table.roles, labels) and column.lower() != "class":
            raise UserError(
                f"{table.path}: {column!r} holds {choices(labels)}, which may be classes, those of NLI among them, or "
                "say how alike the two texts are; call it class or score, or the texts premise and hypothesis"
            )
        return True

    def of_training_rows(self, rows: Sequence[Mapping[str, Any]], table: TaskTable) -> list[dict[str, Any]]:
        """Return NLI rows if rows and file have NLI's three labels, or a file with premises their numbers."""
        if not table.paired:
            return []
        for names in (LABELS, tuple(map(str, range(len(LABELS))))):
            named = dict(zip(LABELS, names, strict=True))
            made = [{**row, "label": named[row["label"]]} for row in rows if "premise" in row and row["label"] in named]
            means_nli = names is LABELS or not are_ambiguous(table.roles, names)
            if means_nli and {*names} == {*table.pair_labels} == {row["label"] for row in made}:
                return made
        return []

    def check_examples(self, task: TaskFields, data: TaskData, files: Mapping[str, Path]) -> None:
        super().check_examples(task, data, files)
        check_labels(task, data, files, fewest=2)

    def select_examples(self, data: TaskData) -> TaskData:
        """Return the data with only a sample of a split with more rows than are fitted; the test split stays whole."""
        from trainables.senteval.logistic import MAX_FITTED_ROWS

        splits, left_out = dict(data.splits), list(data.left_out)
        for name in self.splits_without_test:
            if name in splits and (rows := len(splits[name])) > MAX_FITTED_ROWS:
                splits[name] = splits[name].select(sample_rows(rows, MAX_FITTED_ROWS))
                left_out.append(
                    f"{MAX_FITTED_ROWS:,} of {rows:,} labelled rows ({name}), drawn by chance, stand for all"
                )
        return replace(data, splits=splits, left_out=tuple(left_out))

    def without_test(self, data: TaskData) -> TaskData:
        return super().without_test(data) if "dev" in data.splits else replace(data, splits={})

    def development_splits(self, data: TaskData) -> list[Split]:
        return [data.splits["dev"]] if "dev" in data.splits else []

    def groups(self, splits: Sequence[Split]) -> np.ndarray | None:
        if any(split.right for split in splits):
            return super().groups(splits)
        numbers = anchor_groups(splits)
        return numbers if len(np.unique(numbers)) < len(numbers) else None

    def answers(self, given: Embedded, part: str, seed: int) -> Answers:
        from trainables.senteval.logistic import predict_classes, predict_in_folds

        before = [name for name in self.splits[: self.splits.index(part)] if name in given.data.splits]
        given = _of_length_one(given, *before, part)
        labels, rows, fitted = given.labels(part), given.features(part), before or [part]
        groups = self.groups([given.data.splits[name] for name in fitted])
        if before:
            predicted = predict_classes(given.features(*before), given.labels(*before), rows, groups)
        else:
            predicted = predict_in_folds(rows, labels, groups)
        return Answers(
            predicted.by_regression, labels, split=part, further_arrays={NEIGHBOURS: predicted.by_neighbours}
        )

    def values(self, name: str, answers: Answers) -> np.ndarray:
        predicted = answers.predicted if name == self.measures[0] else answers.further_arrays[NEIGHBOURS]
        return np.asarray(predicted == answers.gold, dtype=float)

    def effects(self, task: TaskFields, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray:
        from trainables.senteval.logistic import FOLDS

        hits = self.values(number.partition("_")[2], answers)
        splits = self.splits_of(task)
        in_folds = "train" not in splits and answers.split == splits[0]  # correlated by shared training rows
        return accuracy_effects(hits, FOLDS if protocol and in_folds else None)

    def development_part(self, data: TaskData) -> Split:
        from trainables.senteval.probe import probed_part

        return probed_part(replace(data, splits={"dev": data.splits["dev"]}))

    def development_score(self, given: Embedded) -> float:
        """Return the accuracy of a linear probe on the development split alone. Compare it with other probes only."""
        from trainables.senteval.probe import probe_accuracy

        groups = self.groups([given.data.splits["dev"]])
        return probe_accuracy(_of_length_one(given, "dev").features("dev"), given.labels("dev"), groups)


def _of_length_one(given: Embedded, *names: str) -> Embedded:
    """Return the task with embeddings of length 1, only of the texts of these splits: other tasks may have many."""
    texts = [text for name in names for item in given.data.splits[name].items() for text in item]
    indices = {text: index for index, text in enumerate(dict.fromkeys(texts))}
    return replace(
        given,
        embeddings=torch.nn.functional.normalize(given.embeddings[given.lookup([*indices])], dim=1),
        lookup=lambda some: torch.tensor([indices[text] for text in some], dtype=torch.long),
    )
