"""The kinds of tasks, an instance of a class each: the values of `Task.kind`."""

from __future__ import annotations

from trainables.registry import Registry
from trainables.senteval.kinds.classes import Classes
from trainables.senteval.kinds.classification import KFold, NestedCrossValidation, TrainDevTest
from trainables.senteval.kinds.clustering import Clustering
from trainables.senteval.kinds.contract import TaskKind
from trainables.senteval.kinds.labelled_pairs import LabelledPairs
from trainables.senteval.kinds.relatedness import Relatedness
from trainables.senteval.kinds.reranking import Reranking
from trainables.senteval.kinds.retrieval import Retrieval
from trainables.senteval.kinds.scored_pairs import ScoredPairs
from trainables.senteval.kinds.search import Search
from trainables.senteval.kinds.similarity import Similarity
from trainables.senteval.kinds.triplets import Triplets

KINDS: Registry[TaskKind] = Registry(
    "kind of task",
    NestedCrossValidation(),
    KFold(),
    TrainDevTest(),
    Similarity(),
    Relatedness(),
    Retrieval(),
    Classes(),
    ScoredPairs(),
    LabelledPairs(),
    Triplets(),
    Search(),
    Reranking(),
    Clustering(),
)
"""Every kind of task, by its name."""

__all__ = ["KINDS", "TaskKind"]
