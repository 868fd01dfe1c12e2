"""Clustered sentences: how well k-means finds the clusters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trainables.errors import UserError
from trainables.senteval.embedded import Embedded
from trainables.senteval.examples import TaskData
from trainables.senteval.items import Answers
from trainables.senteval.kinds.by_parts import ByParts
from trainables.senteval.protocol import Protocol
from trainables.senteval.task_fields import TaskFields

if TYPE_CHECKING:
    from trainables.senteval.table import TaskTable

STARTS = 10
"""Number of starts of k-means; the best fit is used, because the V-measure differs by points between starts."""
KMEANS_SEED = 2023
"""Seed of k-means, independent of a trial's seed."""


class Clustering(ByParts):
    """V-measure: the harmonic mean of homogeneity (clusters of one class) and completeness (classes in one cluster).
    `predicted` has each sentence's cluster number; there are as many clusters as classes."""

    name = "clustering"
    target = "classes"
    measures = ("v_measure",)
    columns = "sentence and cluster"
    scenes = "trainables.corpora.scenes_tasks:clusters"

    def fits(self, table: TaskTable) -> bool:
        return not table.paired and table.has("sentence", "label") and table.roles["label"][0].lower() == "cluster"

    def check_examples(self, task: TaskFields, data: TaskData, files: Mapping[str, Path]) -> None:
        super().check_examples(task, data, files)
        for name, split in data.splits.items():
            if split.right is not None or len(np.unique(split.labels)) < 2:
                raise UserError(f"{task.name}: {files[name]} must hold sentences in at least two clusters")

    def answers(self, given: Embedded, part: str, seed: int) -> Answers:
        from sklearn.cluster import KMeans
        from threadpoolctl import threadpool_limits

        rows, labels = given.all_rows(part), given.labels(part)
        unit = (rows / rows.norm(dim=1, keepdim=True).clamp(min=1e-12)).double().numpy()
        count = min(len(np.unique(labels)), len(np.unique(unit, axis=0)))
        with threadpool_limits(1):  # sums of several threads differ in their last bits
            clusters = KMeans(count, n_init=STARTS, random_state=KMEANS_SEED).fit_predict(unit)
        return Answers(clusters, labels, split=part)

    def measure(self, name: str, answers: Answers) -> float:
        return v_measure(_table(answers)[0])

    def effects(self, task: TaskFields, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray:
        """Return the effects of leaving each sentence out, with fixed clusters. First-order effects would be too small
        for a few hundred sentences."""
        table, cells = _table(answers)
        without = np.zeros(table.size)
        for cell in np.flatnonzero(table):
            fewer = table.copy()
            fewer.flat[cell] -= 1
            without[cell] = 100 * v_measure(fewer)
        moved = without[cells]
        return np.sqrt((len(moved) - 1) / len(moved)) * (moved.mean() - moved)


def v_measure(table: np.ndarray) -> float:
    """Return the V-measure, 0 to 1; `table`, (classes, clusters), counts sentences. 1 for one class and one cluster."""
    classes, clusters = _entropy(table.sum(axis=1)), _entropy(table.sum(axis=0))
    shared = max(0.0, classes + clusters - _entropy(table))
    return 2 * shared / (classes + clusters) if classes + clusters else 1.0


def _entropy(counts: np.ndarray) -> float:
    """Return the entropy in nats."""
    shares = counts[counts > 0] / counts.sum()
    return -float((shares * np.log(shares)).sum())


def _table(answers: Answers) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of sentences, (classes, clusters), and each sentence's flat index in them, (items,)."""
    sides = [np.unique(labels, return_inverse=True)[1] for labels in (answers.gold, answers.predicted)]
    size = [int(side.max()) + 1 for side in sides]
    cells = sides[0] * size[1] + sides[1]
    return np.bincount(cells, minlength=size[0] * size[1]).reshape(size), cells
