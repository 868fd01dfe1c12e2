"""The kinds of tasks, an instance of a class each: the values of `Task.kind`."""

from __future__ import annotations

from trainables.registry import Registry
from trainables.senteval.kinds.classification import KFold, NestedCrossValidation, TrainDevTest
from trainables.senteval.kinds.contract import TaskKind
from trainables.senteval.kinds.relatedness import Relatedness
from trainables.senteval.kinds.retrieval import Retrieval
from trainables.senteval.kinds.similarity import Similarity

KINDS: Registry[TaskKind] = Registry(
    "kind of task", NestedCrossValidation(), KFold(), TrainDevTest(), Similarity(), Relatedness(), Retrieval()
)
"""Every kind of task, by its name."""

__all__ = ["KINDS", "TaskKind"]
