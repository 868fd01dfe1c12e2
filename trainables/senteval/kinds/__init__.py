"""The kinds of tasks, one instance per class: the values of `Task.kind`."""

from __future__ import annotations

from trainables.registry import Registry
from trainables.senteval.kinds.classes import TextClasses
from trainables.senteval.kinds.classification import KFold, NestedCrossValidation, TrainDevTest
from trainables.senteval.kinds.clustering import Clustering
from trainables.senteval.kinds.contract import TaskKind
from trainables.senteval.kinds.labelled_pairs import PairClassification
from trainables.senteval.kinds.relatedness import Relatedness
from trainables.senteval.kinds.reranking import Reranking
from trainables.senteval.kinds.retrieval import Retrieval
from trainables.senteval.kinds.scored_pairs import PairSimilarity
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
    Triplets(),
    Reranking(),
    Search(),
    PairSimilarity(),
    PairClassification(),
    Clustering(),
    TextClasses(),
)
"""Every kind of task, by its name. A user's own file is a task of the first kind whose `fits` accepts it."""

__all__ = ["KINDS", "TaskKind"]
