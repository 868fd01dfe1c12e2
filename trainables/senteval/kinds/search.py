"""Queries that search a corpus for relevant documents: exact search by cosines, scored by trec_eval's measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trainables.errors import UserError
from trainables.lazy_torch import torch
from trainables.senteval.embedded import Embedded
from trainables.senteval.examples import JudgedDocuments, Split, TaskData
from trainables.senteval.items import Answers
from trainables.senteval.kinds.by_parts import MeanOverItems
from trainables.senteval.ranking import MAP, MRR, NDCG, RECALL, measures, nearest

if TYPE_CHECKING:
    from trainables.senteval.table import TaskTable

PROBED_QUERIES, PROBED_DOCUMENTS = 500, 5000
"""At most this many queries, and about this many documents, are used for the score during training."""
DRAW_SEED = 2023
"""Seed that chooses the queries and documents of the score during training."""


class Search(MeanOverItems):
    """A search by each query, which is an item: `predicted` is its nDCG@10, `gold` its number of relevant documents."""

    name = "search"
    target = "documents"
    among_all = True
    measures = (NDCG, MRR, MAP, RECALL)
    columns = "anchor and positive"
    scenes = "trainables.corpora.scenes_tasks:search"

    def fits(self, table: TaskTable) -> bool:
        judged = table.roles.get("label") or table.roles.get("score")
        if not table.has("anchor", "positive"):
            return table.paired and not judged
        if judged and not table.has("negative"):
            (anchor,), positive = table.roles["anchor"], table.roles["positive"]
            raise UserError(
                f"{table.path}: beside {anchor!r} and {positive[0]!r} stands {judged[0]!r}, which may say that some "
                f"are wrong; call them sentence1, sentence2 and label or score, or leave {judged[0]!r} out"
            )
        return not table.has("negative")

    def answers(self, given: Embedded, part: str, seed: int) -> Answers:
        split = given.data.splits[part]
        documents = split.documents
        assert documents is not None
        rows, queries = given.documents(documents.texts), given.lookup(split.left)
        ranked = nearest(given.embeddings, queries, rows, torch.from_numpy(documents.own)).tolist()
        return ranking_answers(self.measures, ranked, split, part)

    def development_part(self, data: TaskData) -> Split:
        """Return at most `PROBED_QUERIES` queries, with all documents judged for them and a random sample of others.
        Compare the score with other such scores only."""
        split = data.splits["dev"]
        documents = split.documents
        assert documents is not None
        random = np.random.default_rng(DRAW_SEED)
        queries = np.sort(random.permutation(len(split))[:PROBED_QUERIES])
        needed = {index for query in queries for index in documents.judged[query] if index >= 0}
        others = (index for index in random.permutation(len(documents.texts)).tolist() if index not in needed)
        room = range(max(0, PROBED_DOCUMENTS - len(needed)))
        kept = sorted(needed.union(index for index, _ in zip(others, room, strict=False)))
        new_indices = {index: number for number, index in enumerate(kept)}
        fewer = JudgedDocuments(
            [documents.texts[index] for index in kept],
            [
                {new_indices.get(index, index): grade for index, grade in documents.judged[query].items()}
                for query in queries
            ],
            np.array([new_indices.get(int(documents.own[query]), -1) for query in queries]),
        )
        return Split([split.left[query] for query in queries], None, fewer.relevant, documents=fewer)


def ranking_answers(names: tuple[str, ...], rankings: list[list[int]], split: Split, part: str) -> Answers:
    """Return the answers to queries, from the documents that each query found, best first."""
    assert split.documents is not None
    each = [
        measures([index for index in ranked if index >= 0], judged)
        for ranked, judged in zip(rankings, split.documents.judged, strict=True)
    ]
    first, *others = (np.array([values[name] for values in each]) for name in names)
    return Answers(first, split.labels, further_arrays=dict(zip(names[1:], others, strict=True)), split=part)
