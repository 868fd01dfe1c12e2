"""Queries, each with its own texts to rank: relevant texts should come before the others."""

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
from trainables.senteval.kinds.search import ranking_answers
from trainables.senteval.kinds.triplets import judges_its_texts
from trainables.senteval.ranking import MAP, MRR, NDCG
from trainables.senteval.task_fields import TaskFields

if TYPE_CHECKING:
    from trainables.senteval.table import TaskTable


class Reranking(MeanOverItems):
    """Ranks texts by cosines; of two equally near texts the less relevant comes first. Each query is an item:
    `predicted` is its average precision, `gold` its number of relevant texts."""

    name = "reranking"
    target = "documents"
    measures = (MAP, MRR, NDCG)
    columns = "anchor, positive and negative"
    scenes = "trainables.corpora.scenes_tasks:reranking"

    def fits(self, table: TaskTable) -> bool:
        return table.has("anchor", "positive", "negative") and table.max_texts_per_line != (1, 1)

    def of_training_rows(self, rows: Sequence[Mapping[str, Any]], table: TaskTable) -> list[dict[str, Any]]:
        """Return the rows with positives and negatives; no row if each of them is a single triplet."""
        judged = [dict(row) for row in rows if judges_its_texts(row)]
        return judged if any(len(row["positive"]) + len(row["negative"]) > 2 for row in judged) else []

    def check_examples(self, task: TaskFields, data: TaskData, files: Mapping[str, Path]) -> None:
        super().check_examples(task, data, files)
        for name, split in data.splits.items():
            assert split.documents is not None
            for number, judged in enumerate(split.documents.judged, start=1):
                if len({grade > 0 for grade in judged.values()}) < 2:
                    raise UserError(
                        f"{task.name}: example {number:,} in {files[name]} needs a text that is relevant and one that "
                        "is not"
                    )

    def answers(self, given: Embedded, part: str, seed: int) -> Answers:
        split = given.data.splits[part]
        assert split.documents is not None
        judged = split.documents.judged
        texts, queries = given.documents(split.documents.texts), given.lookup(split.left)
        sizes = [len(grades) for grades in judged]
        indices = [index for grades in judged for index in grades]
        near = cosine(given.embeddings, queries.repeat_interleave(given.lookup([]).new_tensor(sizes)), texts[indices])
        cuts = np.cumsum(sizes)[:-1]
        ranked = [
            [index for _, _, index in sorted(zip(-cosines, grades.values(), grades, strict=True))]
            for cosines, grades in zip(np.split(near, cuts), judged, strict=True)
        ]
        return ranking_answers(self.measures, ranked, split, part)

    def groups(self, splits: Sequence[Split]) -> np.ndarray | None:
        """Return groups by query: examples of one query are sampled together."""
        return anchor_groups(splits)
