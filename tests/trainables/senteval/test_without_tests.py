"""Development numbers without the tests: what the kinds' contract would not let pass, and what is embedded."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from trainables.senteval import evaluate
from trainables.senteval.embedded import Embedded
from trainables.senteval.kinds import KINDS, TaskKind
from trainables.senteval.kinds.classification import KFold, TrainDevTest
from trainables.senteval.kinds.contract import KindScores
from trainables.senteval.protocol import Protocol
from trainables.senteval.read_task import read_task
from trainables.senteval.tasks import TASKS
from trainables.testing.tasks import TaskKindContract, bag_of_words


@pytest.fixture
def wrong() -> Iterator[TaskKind]:
    """A kind whose way without tests makes other folds."""

    class Wrong(KFold):
        name = "wrong"

        def score_without_test(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
            return super().score_without_test(given, dataclasses.replace(protocol, folds=protocol.folds + 1), seed)

    KINDS.add(Wrong())
    yield KINDS["wrong"]
    KINDS.remove("wrong")


def test_a_kind_that_scores_otherwise_without_tests_is_found(wrong: TaskKind, corpus: Path) -> None:
    task = dataclasses.replace(TASKS["TREC"], kind="wrong")
    with pytest.raises(AssertionError):
        TaskKindContract().test_without_tests_the_development_numbers_are_the_same(wrong, task, corpus)


def test_who_inherits_a_kind_and_scores_in_another_way_is_scored_whole(corpus: Path) -> None:
    class Other(TrainDevTest):
        def score(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
            return super().score(given, protocol, seed + 1)

    class Same(TrainDevTest):
        name = "same"

    data = read_task(TASKS["SST2"], corpus)
    assert [*Same().without_test(data).splits] == ["train", "dev"]
    assert [*Other().without_test(data).splits] == ["train", "dev", "test"]
    assert Other.score_without_test is TaskKind.score_without_test


def test_only_what_it_needs_is_embedded(corpus: Path) -> None:
    """Of relatedness the development pairs alone; of classes in folds the whole training part."""
    calls: list[list[str]] = []

    def encode(sentences: Sequence[str]) -> np.ndarray:
        calls.append([*sentences])
        return bag_of_words(sentences)

    tasks = ["STSBenchmark", "TREC"]
    scores = evaluate(encode, corpus, tasks, "fast", parts="development")
    parts = {name: read_task(TASKS[name], corpus).splits for name in tasks}
    dev, train = parts["STSBenchmark"]["dev"], parts["TREC"]["train"]
    assert {*calls[0]} == {*dev.left, *(dev.right or []), *train.left}
    assert {*scores.answers} == {"dev.STSBenchmark"}
    assert scores.geometry == {}
    assert [*scores.tasks["STSBenchmark"]] == ["dev_spearman_cosine", "examples", "seconds"]
    assert [*scores.tasks["TREC"]] == ["dev_accuracy", "examples", "seconds"]
