"""Parts of many spaces: untrained rows, tasks, columns of tables, a base recipe with multiple negatives ranking over
pairs of NLI, settings of small grids, and the laptop's scale."""

from __future__ import annotations

from collections.abc import Iterable

from search_spaces.paper import Column, Need, Overrides
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import SCENES, SCENES_ENCODER
from trainables.senteval.tasks import GROUPS

NO_TRAINING: Overrides = {"optimisation.epochs": 0}
WORD_VECTORS: Overrides = {**NO_TRAINING, "encoder.kind": "word_vectors"}


def plain(name: str | None, mode: str = "mean") -> Overrides:
    """Return settings of an untrained pretrained transformer with our pooling. `name` None: the base's encoder."""
    model = {} if name is None else {"encoder.kind": "transformer", "encoder.name": name}
    return {**NO_TRAINING, **model, "pooling.mode": mode}


def finished(name: str | None = None) -> Overrides:
    """Return settings of a finished sentence-transformers model. `name` None: the user must name the model."""
    model = {} if name is None else {"encoder.name": name}
    return {**NO_TRAINING, "encoder.kind": "pipeline", **model}


def needed(overrides: Overrides) -> Need | None:
    """Return the input that a row needs if it changes the base's encoder. Without the input its cells are dashes."""
    return "checkpoint" if {"encoder.kind", "encoder.name"} & set(overrides) else None


YEARS = GROUPS["sts"]
STS_EVALUATION = EvaluationConfig(tasks=("sts", "STSBenchmark"))
STSB = Column("STS-B", ("STSBenchmark", "test_spearman_cosine"))
SICK = Column("SICK-R", ("SICKRelatedness", "test_spearman_cosine"))


def scored(tasks: Iterable[str], number: str) -> tuple[Column, ...]:
    """Return a table column for each task, with the score named `number`."""
    return tuple(Column(task, (task, number)) for task in tasks)


def averaged(*columns: Column) -> tuple[Column, ...]:
    """Return the columns, and a column with their mean."""
    return (*columns, Column("Avg.", mean_of=tuple(column.name for column in columns)))


RANKING: Overrides = {
    "encoder.name": "bert-base-uncased",
    "pooling.mode": "mean",
    "corpus.nli": "stanfordnlp/snli,nyu-mll/multi_nli",
    "corpus.layout": "pairs",
    "objective.name": "mnrl",
    "objective.temperature": 0.05,
    "optimisation.learning_rate": 5e-5,
    "optimisation.batch_size": 128,
}
ON_SCENES: Overrides = {
    "encoder.name": SCENES_ENCODER,
    "corpus.nli": SCENES,
    "evaluation.senteval": SCENES,
    "evaluation.protocol": "fast",
}
LAPTOP: Overrides = {**ON_SCENES, "optimisation.learning_rate": 5e-4}
SMALL_GRID: Overrides = {
    "encoder.name": "sentence-transformers/all-MiniLM-L6-v2",
    "pooling.mode": "mean",
    "corpus.nli": "stanfordnlp/snli",
    "corpus.layout": "groups",
    "objective.name": "supmpn",
    "objective.weight": 1.0,
    "objective.temperature": 0.05,
    "optimisation.epochs": 10,
    "optimisation.max_steps": 48,
}
"""Settings shared by the spaces that are small enough to train their whole grid."""
