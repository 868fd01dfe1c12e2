"""Pairs with a score: how well their cosines follow it. Nothing is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from trainables.errors import UserError
from trainables.senteval.correlation import CORRELATIONS, correlation_in
from trainables.senteval.effects import Over, correlation_effects
from trainables.senteval.embedded import Embedded, TaskFields
from trainables.senteval.examples import TaskData
from trainables.senteval.items import Answers
from trainables.senteval.kinds.by_parts import ByParts
from trainables.senteval.kinds.contract import CORRELATION, KindScores, Predicted, TaskKind
from trainables.senteval.protocol import Protocol
from trainables.tabular import is_graded

if TYPE_CHECKING:
    from trainables.senteval.table import TaskTable


class Similarity(TaskKind):
    """STS12 to STS16: `all` concatenates the sub-corpora, `mean` averages them, `wmean` weights them by size."""

    varies = 23.0
    name = "similarity"
    splits = ()
    target = "scores"
    predicted = "cosines"
    reported = tuple(f"{name}_{way}" for name in CORRELATIONS for way in ("all", "mean", "wmean"))
    unfitted = reported
    main = "spearman_wmean"

    def score(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        parts = [(given.cosine(part), part.labels) for part in given.data.splits.values()]
        predicted, gold = (np.concatenate(side) for side in zip(*parts, strict=True))
        sizes = np.array([len(labels) for _, labels in parts])
        return KindScores((Answers(predicted, gold, sizes),), examples=len(gold))

    def numbers(self, task: TaskFields, answers: Answers, protocol: Protocol | None) -> dict[str, float | None]:
        values: dict[str, float | None] = {}
        for name, correlation in CORRELATIONS.items():
            each = [100 * correlation(predicted, gold) for predicted, gold in answers.in_parts()]
            values[f"{name}_all"] = 100 * correlation(answers.predicted, answers.gold)
            values[f"{name}_mean"] = float(np.mean(each))
            values[f"{name}_wmean"] = float(np.average(each, weights=answers.sizes))
        return values

    def effects(self, task: TaskFields, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray:
        how = cast(Over, number.rpartition("_")[2])
        return correlation_effects(answers.predicted, answers.gold, [*answers.sizes], correlation_in(number), how)


class PairSimilarity(ByParts):
    """Spearman's and Pearson's correlation of cosines and scores on any scale."""

    varies = 23.0
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
