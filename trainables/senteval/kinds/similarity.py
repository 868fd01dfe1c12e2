"""STS12 to STS16: how well the cosines of pairs follow their gold scores. Nothing is fitted."""

from __future__ import annotations

from typing import cast

import numpy as np

from trainables.senteval.correlation import CORRELATIONS, correlation_in
from trainables.senteval.effects import Aggregation, correlation_effects
from trainables.senteval.embedded import Embedded
from trainables.senteval.items import Answers
from trainables.senteval.kinds.contract import KindScores, TaskKind
from trainables.senteval.protocol import Protocol
from trainables.senteval.task_fields import TaskFields


class Similarity(TaskKind):
    """Correlations: `all` over all pairs, `mean` averaged over sub-corpora, `wmean` averaged with weights by size."""

    least_deviation = 23.0
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
        aggregation = cast(Aggregation, number.rpartition("_")[2])
        return correlation_effects(
            answers.predicted, answers.gold, [*answers.sizes], correlation_in(number), aggregation
        )
