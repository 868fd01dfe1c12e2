"""Base of the kinds that SentEval does not have: the development split and the test split are scored alike, and a task
may have only one of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from trainables.senteval.effects import mean_effects
from trainables.senteval.embedded import Embedded
from trainables.senteval.items import Answers
from trainables.senteval.kinds.contract import SHARE, KindScores, TaskKind
from trainables.senteval.protocol import Protocol
from trainables.senteval.task_fields import TaskFields

PARTS = ("dev", "test")


class ByParts(TaskKind):
    """A kind whose scores have the names of its `measures` with the prefixes `dev_` and `test_`."""

    splits: ClassVar[tuple[str, ...]] = PARTS
    optional: ClassVar[tuple[str, ...]] = PARTS
    splits_without_test: ClassVar[tuple[str, ...]] = ("dev",)
    measures: ClassVar[tuple[str, ...]]
    """Names of the scores of a split. The first represents a task, and is the goal of a search."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "measures" in vars(cls):
            cls.reported = cls.unfitted = tuple(f"{part}_{name}" for part in PARTS for name in cls.measures)
            cls.development, cls.main = f"dev_{cls.measures[0]}", f"test_{cls.measures[0]}"

    @abstractmethod
    def answers(self, given: Embedded, part: str, seed: int) -> Answers:
        """Return the answers to the items of the split `part`."""

    @abstractmethod
    def measure(self, name: str, answers: Answers) -> float:
        """Return the value of one of `measures`, from 0 to 1, or within `range_of`."""

    def range_of(self, number: str) -> tuple[float, float]:
        return SHARE

    def score(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        answers = tuple(self.answers(given, part, seed) for part in PARTS if part in given.data.splits)
        sizes = [len(part.gold) for part in answers]
        return KindScores(answers, sizes if len(sizes) > 1 else sizes[0])

    def score_without_test(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        return self.score(given, protocol, seed)

    def numbers(self, task: TaskFields, answers: Answers, protocol: Protocol | None) -> dict[str, float | None]:
        return {f"{answers.split}_{name}": 100 * self.measure(name, answers) for name in self.measures}

    def development_score(self, given: Embedded) -> float:
        return 100 * self.measure(self.measures[0], self.answers(given, "dev", seed=0))


class MeanOverItems(ByParts):
    """A kind in which each item has a value for each measure, and a measure is the mean of its values: `predicted` has
    those of the first measure, `further_arrays` those of the others."""

    def values(self, name: str, answers: Answers) -> np.ndarray:
        """Return the items' values of a measure, (items,), from 0 to 1."""
        return np.asarray(answers.predicted if name == self.measures[0] else answers.further_arrays[name], dtype=float)

    def measure(self, name: str, answers: Answers) -> float:
        return float(self.values(name, answers).mean())

    def effects(self, task: TaskFields, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray:
        return mean_effects(self.values(number.partition("_")[2], answers))

    def shares(self, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray:
        values = self.values(number.partition("_")[2], answers)
        return 100 * values / len(values)
