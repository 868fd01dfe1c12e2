"""Pairs with a score: how well their cosines follow it, and a trained regressor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from trainables.errors import UserError
from trainables.senteval.correlation import CORRELATIONS, correlation_in, pearson, spearman
from trainables.senteval.effects import Over, correlation_effects
from trainables.senteval.embedded import Embedded, TaskFields
from trainables.senteval.examples import TaskData
from trainables.senteval.items import Answers
from trainables.senteval.kinds.by_parts import ByParts
from trainables.senteval.kinds.contract import CORRELATION, THREE, KindScores, Predicted, TaskKind, check_scale
from trainables.senteval.protocol import Protocol
from trainables.tabular import is_graded

if TYPE_CHECKING:
    from trainables.senteval.table import TaskTable

REGRESSED = "regressed"
"""What the regressor predicts for the test pairs, beside their cosines."""


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


class Relatedness(TaskKind):
    """STS benchmark, SICK relatedness and the like. Answers are cosines, of the test part and of the development part,
    and what a trained regressor says of the test part."""

    varies = 23.0
    name = "relatedness"
    splits = THREE
    splits_without_test = ("dev",)
    target = "scores"
    predicted = "cosines"
    reported = (
        "dev_spearman_cosine",
        "test_spearman_cosine",
        "dev_pearson_regressor",
        "test_spearman_regressor",
        "test_pearson_regressor",
    )
    unfitted = ("dev_spearman_cosine", "test_spearman_cosine")
    development = "dev_spearman_cosine"
    main = "test_spearman_regressor"

    def check(self, task: TaskFields) -> None:
        if task.f1:
            super().check(task)
        check_scale(task)

    def check_examples(self, task: TaskFields, data: TaskData, files: Mapping[str, Path]) -> None:
        super().check_examples(task, data, files)
        low, high = data.splits["train"].scale
        if task.scale is None and not 0 < high - low < math.inf:
            raise UserError(
                f"{task.name}: the scores in {files['train']} go from {low:g} to {high:g}, which is no scale to learn"
            )

    def score(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        from trainables.senteval.regressor import fit_regressor, onto_bins

        splits = given.data.splits
        dev, test = splits["dev"], splits["test"]
        scale = given.task.scale or splits["train"].scale
        train, on_dev, on_test = (given.all_rows(name) for name in self.splits)
        bins = onto_bins(splits["train"].labels, scale)
        predict = fit_regressor(train, bins, on_dev, dev.labels, given.rows("dev").dim, seed)
        return KindScores(
            (
                Answers(given.cosine(test), test.labels, more={REGRESSED: predict(on_test)}),
                Answers(given.cosine(dev), dev.labels, split="dev"),
            ),
            examples=[len(dev), len(test)],
            fitted={"dev_pearson_regressor": 100 * pearson(predict(on_dev), dev.labels)},
            scale=scale if given.task.scale is None else None,
        )

    def score_without_test(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        dev = given.data.splits["dev"]
        return KindScores((Answers(given.cosine(dev), dev.labels, split="dev"),), len(dev))

    def numbers(self, task: TaskFields, answers: Answers, protocol: Protocol | None) -> dict[str, float | None]:
        values: dict[str, float | None] = {
            f"{answers.split}_spearman_cosine": 100 * spearman(answers.predicted, answers.gold)
        }
        if REGRESSED in answers.more:
            for name, correlation in CORRELATIONS.items():
                values[f"test_{name}_regressor"] = 100 * correlation(answers.more[REGRESSED], answers.gold)
        return values

    def effects(self, task: TaskFields, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray:
        predicted = answers.more[REGRESSED] if number.endswith("_regressor") else answers.predicted
        return correlation_effects(predicted, answers.gold, kind=correlation_in(number))

    def development_score(self, given: Embedded) -> float:
        dev = given.data.splits["dev"]
        return 100 * spearman(given.cosine(dev), dev.labels)


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
