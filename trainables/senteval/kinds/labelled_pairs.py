"""Pairs with labels, match or no match: how well cosines separate matching pairs from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trainables.errors import UserError
from trainables.senteval.effects import average_precision_effects, f1_effects
from trainables.senteval.embedded import Embedded
from trainables.senteval.examples import TaskData
from trainables.senteval.items import Answers
from trainables.senteval.kinds.by_parts import ByParts
from trainables.senteval.kinds.classification import f1
from trainables.senteval.protocol import Protocol
from trainables.senteval.ranking import average_precision, best_threshold
from trainables.senteval.task_fields import TaskFields

if TYPE_CHECKING:
    from trainables.senteval.table import TaskTable

_BINARY = ({"0", "1"}, {"False", "True"}, {"false", "true"})
MATCHED = "matched"
"""Name of an array of the test split: whether each cosine reaches the development split's best threshold."""


class PairClassification(ByParts):
    """Average precision of label 1, and F1 at a threshold if there is a development split to choose it."""

    least_deviation = 23.0
    name = "labelled_pairs"
    target = "classes"
    predicted = "cosines"
    measures = ("ap",)
    columns = "sentence1, sentence2 and label"
    scenes = "trainables.corpora.scenes_tasks:labelled_pairs"

    def fits(self, table: TaskTable) -> bool:
        return table.paired and {*table.pair_labels} in _BINARY

    def of_training_rows(self, rows: Sequence[Mapping[str, Any]], table: TaskTable) -> list[dict[str, Any]]:
        """Return pairs of NLI without neutral ones: entailment has the higher of the two labels, which means a match.
        Returns no pairs if all have one label."""
        named = dict(zip(("contradiction", "entailment"), table.pair_labels, strict=True))
        pairs = [
            {"sentence1": row["premise"], "sentence2": row["hypothesis"], "label": named[row["label"]]}
            for row in rows
            if row.get("label") in named
        ]
        return pairs if len({pair["label"] for pair in pairs}) == len(named) else []

    def numbers_of(self, task: TaskFields) -> tuple[str, ...]:
        both = {*self.splits} == {*self.splits_of(task)}
        return (*super().numbers_of(task), *(("test_f1",) if both else ()))

    def check_examples(self, task: TaskFields, data: TaskData, files: Mapping[str, Path]) -> None:
        super().check_examples(task, data, files)
        for name, split in data.splits.items():
            if split.right is None or data.classes != 2 or len(np.unique(split.labels)) != 2:
                raise UserError(
                    f"{task.name}: {files[name]} must hold pairs of sentences with two labels, for those that belong "
                    "together and those that do not"
                )

    def answers(self, given: Embedded, part: str, seed: int) -> Answers:
        splits = given.data.splits
        cosines, gold = given.cosine(splits[part]), splits[part].labels
        if part == "dev" or "dev" not in splits:
            return Answers(cosines, gold, split=part)
        threshold = best_threshold(given.cosine(splits["dev"]), splits["dev"].labels)
        return Answers(cosines, gold, split=part, further_arrays={MATCHED: (cosines >= threshold).astype(np.int8)})

    def numbers(self, task: TaskFields, answers: Answers, protocol: Protocol | None) -> dict[str, float | None]:
        matched = answers.further_arrays.get(MATCHED)
        with_f1 = {} if matched is None else {"test_f1": f1(Answers(matched, answers.gold))}
        return super().numbers(task, answers, protocol) | with_f1

    def measure(self, name: str, answers: Answers) -> float:
        return average_precision(answers.predicted, answers.gold)

    def effects(self, task: TaskFields, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray:
        if number == "test_f1":
            return f1_effects(answers.further_arrays[MATCHED], answers.gold)
        return average_precision_effects(answers.predicted, answers.gold)
