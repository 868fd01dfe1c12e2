"""Pairs with a score on any scale: how well their cosines follow it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from trainables.errors import UserError
from trainables.senteval.correlation import CORRELATIONS, correlation_in
from trainables.senteval.effects import correlation_effects
from trainables.senteval.embedded import Embedded
from trainables.senteval.examples import TaskData
from trainables.senteval.items import Answers
from trainables.senteval.kinds.by_parts import ByParts
from trainables.senteval.kinds.contract import CORRELATION
from trainables.senteval.protocol import Protocol
from trainables.senteval.task_fields import TaskFields


class ScoredPairs(ByParts):
    """Spearman's and Pearson's correlation of cosines and scores."""

    name = "scored_pairs"
    target = "scores"
    predicted = "cosines"
    measures = tuple(CORRELATIONS)

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
