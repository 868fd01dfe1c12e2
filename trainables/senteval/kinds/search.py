"""Queries, by cosines and trec_eval's measures: a corpus in which to find what is relevant to them, or texts of their
own, of which those that are relevant should lie nearer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trainables.errors import UserError
from trainables.lazy_torch import torch
from trainables.senteval.correlation import cosine
from trainables.senteval.embedded import Embedded, TaskFields
from trainables.senteval.examples import JudgedDocuments, Split, TaskData
from trainables.senteval.items import Answers
from trainables.senteval.kinds.by_parts import MeanOverItems
from trainables.senteval.ranking import MAP, MRR, NDCG, RECALL, measures, nearest

if TYPE_CHECKING:
    from trainables.senteval.table import TaskTable

PROBED_QUERIES, PROBED_DOCUMENTS = 500, 5000
"""So many are held against each other while a training goes on."""
DRAWN = 2023
"""Draws them, always the same."""


class Search(MeanOverItems):
    """A value of each query: `predicted` is its nDCG@10, `gold` how many documents are relevant to it."""

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
        return measured(self.measures, ranked, split, part)

    def development_part(self, data: TaskData) -> Split:
        """At most so many queries, among what was judged for them and a draw of the other documents: the number is its
        own, to compare with its like only."""
        split = data.splits["dev"]
        documents = split.documents
        assert documents is not None
        random = np.random.default_rng(DRAWN)
        queries = np.sort(random.permutation(len(split))[:PROBED_QUERIES])
        needed = {place for query in queries for place in documents.judged[query] if place >= 0}
        others = (place for place in random.permutation(len(documents.texts)).tolist() if place not in needed)
        room = range(max(0, PROBED_DOCUMENTS - len(needed)))
        kept = sorted(needed.union(place for place, _ in zip(others, room, strict=False)))
        places = {place: number for number, place in enumerate(kept)}
        fewer = JudgedDocuments(
            [documents.texts[place] for place in kept],
            [
                {places.get(place, place): grade for place, grade in documents.judged[query].items()}
                for query in queries
            ],
            np.array([places.get(int(documents.own[query]), -1) for query in queries]),
        )
        return Split([split.left[query] for query in queries], None, fewer.relevant, documents=fewer)


class Triplets(MeanOverItems):
    """By cosines; a negative that lies as near as the positive counts as nearer. `predicted` is 1 where the positive
    lies nearer, `gold` is always 1."""

    varies = 24.0
    name = "triplets"
    target = "documents"
    predicted = "classes"
    measures = ("accuracy",)
    columns = "anchor, positive and negative"
    scenes = "trainables.corpora.scenes_tasks:triplets"

    def fits(self, table: TaskTable) -> bool:
        return table.has("anchor", "positive", "negative") and table.most == (1, 1)

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
        split = given.data.splits[part]
        assert split.documents is not None
        anchors, texts = given.lookup(split.left), given.documents(split.documents.texts)
        in_order = [sorted(judged, key=judged.__getitem__) for judged in split.documents.judged]
        far, near = (cosine(given.embeddings, anchors, texts[list(side)]) for side in zip(*in_order, strict=True))
        return Answers((near > far).astype(np.int8), np.ones(len(near), dtype=np.int8), split=part)

    def hits(self, number: str, answers: Answers) -> np.ndarray | None:
        return answers.predicted == answers.gold

    def groups(self, splits: Sequence[Split]) -> np.ndarray | None:
        """The triplets of an anchor are drawn together."""
        return anchor_groups(splits)


class Reranking(MeanOverItems):
    """By cosines; of two texts that lie equally near the less relevant one counts as nearer. A value of each query:
    `predicted` is its average precision, `gold` how many texts are relevant to it."""

    name = "reranking"
    target = "documents"
    measures = (MAP, MRR, NDCG)
    columns = "anchor, positive and negative"
    scenes = "trainables.corpora.scenes_tasks:reranking"

    def fits(self, table: TaskTable) -> bool:
        return table.has("anchor", "positive", "negative") and table.most != (1, 1)

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
        places = [place for grades in judged for place in grades]
        near = cosine(given.embeddings, queries.repeat_interleave(given.lookup([]).new_tensor(sizes)), texts[places])
        cuts = np.cumsum(sizes)[:-1]
        ranked = [
            [place for _, _, place in sorted(zip(-cosines, grades.values(), grades, strict=True))]
            for cosines, grades in zip(np.split(near, cuts), judged, strict=True)
        ]
        return measured(self.measures, ranked, split, part)

    def groups(self, splits: Sequence[Split]) -> np.ndarray | None:
        """The examples of a query are drawn together."""
        return anchor_groups(splits)


def measured(names: tuple[str, ...], rankings: list[list[int]], split: Split, part: str) -> Answers:
    """The answers of queries, from the documents that each found, the best first."""
    assert split.documents is not None
    each = [
        measures([place for place in ranked if place >= 0], judged)
        for ranked, judged in zip(rankings, split.documents.judged, strict=True)
    ]
    first, *others = (np.array([values[name] for values in each]) for name in names)
    return Answers(first, split.labels, more=dict(zip(names[1:], others, strict=True)), split=part)


def anchor_groups(splits: Sequence[Split]) -> np.ndarray:
    """(items,) Items with one text are drawn together."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for split in splits for text in split.left])
