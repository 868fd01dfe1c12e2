"""Anchors with a positive and a negative: how often the positive is nearer; and, as a check, how near it is among all
texts, because a model that learns to separate two texts may get worse on others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trainables.errors import UserError
from trainables.senteval.correlation import cosine
from trainables.senteval.embedded import Embedded
from trainables.senteval.examples import Split, TaskData
from trainables.senteval.items import Answers, anchor_groups
from trainables.senteval.kinds.by_parts import MeanOverItems
from trainables.senteval.protocol import Protocol
from trainables.senteval.ranking import NDCG, measures, nearest
from trainables.senteval.task_fields import TaskFields
from trainables.tabular import single_spaced

if TYPE_CHECKING:
    from trainables.senteval.table import TaskTable

SEARCH_DEPTH = 10
"""Number of texts that a search returns, for nDCG@10."""


class Triplets(MeanOverItems):
    """Compares cosines; a negative as near as the positive counts as nearer. `predicted` is 1 if the positive is
    nearer, `gold` is always 1."""

    least_deviation = 24.0
    name = "triplets"
    target = "documents"
    predicted = "classes"
    measures = ("accuracy", NDCG)
    checking_number = f"test_{NDCG}"
    columns = "anchor, positive and negative"
    scenes = "trainables.corpora.scenes_tasks:triplets"

    def fits(self, table: TaskTable) -> bool:
        return table.has("anchor", "positive", "negative") and table.max_texts_per_line == (1, 1)

    def of_training_rows(self, rows: Sequence[Mapping[str, Any]], table: TaskTable) -> list[dict[str, Any]]:
        """Return triplets of each row's first positive and first negative."""
        return [
            {"anchor": row["anchor"], **{side: row[side][0] for side in ("positive", "negative")}}
            for row in rows
            if judges_its_texts(row)
        ]

    def check_examples(self, task: TaskFields, data: TaskData, files: Mapping[str, Path]) -> None:
        super().check_examples(task, data, files)
        for name, split in data.splits.items():
            assert split.documents is not None
            for number, judged in enumerate(split.documents.judged, start=1):
                if sorted(judged.values()) != [0, 1]:
                    raise UserError(
                        f"{task.name}: example {number:,} in {files[name]} has {sum(judged.values())} positives and "
                        f"{len(judged)} texts, not one positive and one negative; take the kind 'reranking'"
                    )

    def answers(self, given: Embedded, part: str, seed: int) -> Answers:
        nearer, searched = _nearer(given, part), {NDCG: _in_a_search(given, given.data.splits[part])}
        return Answers(nearer.astype(np.int8), np.ones(len(nearer), dtype=np.int8), split=part, further_arrays=searched)

    def development_score(self, given: Embedded) -> float:
        """Return the accuracy in percent. The search is left out, because it is a check and chooses nothing."""
        return 100 * float(_nearer(given, "dev").mean())

    def numbers(self, task: TaskFields, answers: Answers, protocol: Protocol | None) -> dict[str, float | None]:
        """Return accuracy and nDCG@10 in percent; the accuracy alone for old predictions, which lack the search."""
        names = self.measures if NDCG in answers.further_arrays else self.measures[:1]
        return {f"{answers.split}_{name}": 100 * self.measure(name, answers) for name in names}

    def hits(self, number: str, answers: Answers) -> np.ndarray | None:
        return answers.predicted == answers.gold

    def groups(self, splits: Sequence[Split]) -> np.ndarray | None:
        """Return groups by anchor: triplets of one anchor are sampled together."""
        return anchor_groups(splits)


def _nearer(given: Embedded, part: str) -> np.ndarray:  # (items,) bool
    """Return whether the positive of each triplet is nearer to the anchor than the negative."""
    split = given.data.splits[part]
    assert split.documents is not None
    anchors, texts = given.lookup(split.left), given.documents(split.documents.texts)
    in_order = [sorted(judged, key=judged.__getitem__) for judged in split.documents.judged]
    far, near = (cosine(given.embeddings, anchors, texts[list(side)]) for side in zip(*in_order, strict=True))
    return np.asarray(near > far)


def _in_a_search(given: Embedded, split: Split) -> np.ndarray:  # (items,)
    """Return for each triplet nDCG@10 of a search by its anchor among all texts of the split. Positives of all triplets
    of the anchor are relevant."""
    assert split.documents is not None
    anchors, texts = given.lookup(split.left), given.documents(split.documents.texts)
    relevant: dict[str, dict[int, int]] = {}
    for anchor, judged in zip(split.left, split.documents.judged, strict=True):
        grades = relevant.setdefault(anchor, {})
        grades |= {index: max(grade, grades.get(index, 0)) for index, grade in judged.items()}
    nobody = anchors.new_full((len(anchors),), -1)
    ranked = nearest(given.embeddings, anchors, texts, nobody, SEARCH_DEPTH).tolist()
    each = (measures(ranking, relevant[anchor]) for anchor, ranking in zip(split.left, ranked, strict=True))
    return np.array([values[NDCG] for values in each])


def judges_its_texts(row: Mapping[str, Any]) -> bool:
    """Whether a training row has a positive and a negative, and no text that is both."""
    near, far = ({single_spaced(text) for text in row.get(side, ())} for side in ("positive", "negative"))
    return bool(near) and bool(far) and near.isdisjoint(far)
