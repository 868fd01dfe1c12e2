"""Pairs with a score on any scale: how well cosines follow the scores."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trainables.errors import UserError
from trainables.senteval.correlation import CORRELATIONS, correlation_in
from trainables.senteval.effects import correlation_effects
from trainables.senteval.embedded import Embedded
from trainables.senteval.examples import TaskData
from trainables.senteval.items import Answers
from trainables.senteval.kinds.by_parts import ByParts
from trainables.senteval.kinds.contract import CORRELATION, Predicted
from trainables.senteval.protocol import Protocol
from trainables.senteval.task_fields import TaskFields
from trainables.tabular import is_graded

if TYPE_CHECKING:
    from trainables.senteval.table import TaskTable


class PairSimilarity(ByParts):
    """Spearman's and Pearson's correlation of cosines and scores."""

    least_deviation = 23.0
    name = "scored_pairs"
    target = "scores"
    predicted: ClassVar[Predicted] = "cosines"
    measures = tuple(CORRELATIONS)
    columns = "sentence1, sentence2 and score"
    scenes = "trainables.corpora.scenes_tasks:scored_pairs"

    def fits(self, table: TaskTable) -> bool:
        return table.paired and (table.has("score") or is_graded(table.pair_labels))

    def check_examples(self, task: TaskFields, data: TaskData, files: Mapping[str, Path]) -> None:
        super().check_examples(task, data, files)
        for name, split in data.splits.items():
            low, high = split.scale
            if low == high:
                raise UserError(f"{task.name}: all scores in {files[name]} are {low:g}, which nothing can follow")

    def answers(self, given: Embedded, part: str, seed: int) -> Answers:
        split = given.data.splits[part]
        return Answers(given.cosine(split), split.labels, split=part)

    def measure(self, name: str, answers: Answers) -> float:
        return CORRELATIONS[correlation_in(name)](answers.predicted, answers.gold)

    def range_of(self, number: str) -> tuple[float, float]:
        return CORRELATION

    def effects(self, task: TaskFields, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray:
        return correlation_effects(answers.predicted, answers.gold, kind=correlation_in(number))
