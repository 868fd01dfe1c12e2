"""STS benchmark, SICK relatedness and similar tasks: how well cosines and a fitted regressor follow gold scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from trainables.errors import UserError
from trainables.senteval.correlation import CORRELATIONS, correlation_in, pearson, spearman
from trainables.senteval.effects import correlation_effects
from trainables.senteval.embedded import Embedded
from trainables.senteval.examples import TaskData
from trainables.senteval.items import Answers
from trainables.senteval.kinds.contract import TRAIN_DEV_TEST, KindScores, TaskKind, check_scale
from trainables.senteval.protocol import Protocol
from trainables.senteval.task_fields import TaskFields

REGRESSED = "regressed"
"""Name of the array of the regressor's predictions for the test pairs, stored beside their cosines."""


class Relatedness(TaskKind):
    """Answers are cosines of the test and development splits, and the regressor's predictions for the test split."""

    least_deviation = 23.0
    name = "relatedness"
    splits = TRAIN_DEV_TEST
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
                Answers(given.cosine(test), test.labels, further_arrays={REGRESSED: predict(on_test)}),
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
        if REGRESSED in answers.further_arrays:
            for name, correlation in CORRELATIONS.items():
                values[f"test_{name}_regressor"] = 100 * correlation(answers.further_arrays[REGRESSED], answers.gold)
        return values

    def effects(self, task: TaskFields, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray:
        predicted = answers.further_arrays[REGRESSED] if number.endswith("_regressor") else answers.predicted
        return correlation_effects(predicted, answers.gold, kind=correlation_in(number))

    def development_score(self, given: Embedded) -> float:
        dev = given.data.splits["dev"]
        return 100 * spearman(given.cosine(dev), dev.labels)
