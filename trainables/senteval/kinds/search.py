"""Queries and a corpus in which to find what is relevant to them: an exact search by cosines, trec_eval's measures."""

from __future__ import annotations

import numpy as np

from trainables.senteval.embedded import Embedded
from trainables.senteval.examples import Documents, Split, TaskData
from trainables.senteval.items import Answers
from trainables.senteval.kinds.by_parts import MeanOverItems
from trainables.senteval.ranking import MAP, MRR, NDCG, RECALL, measures, nearest

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

    def answers(self, given: Embedded, part: str, seed: int) -> Answers:
        import torch

        split = given.data.splits[part]
        documents = split.documents
        assert documents is not None
        rows, asked = given.documents(documents.texts), given.lookup(split.left)
        found = nearest(given.embeddings, asked, rows, torch.from_numpy(documents.own)).tolist()
        return measured(self.measures, found, split, part)

    def development_part(self, data: TaskData) -> Split:
        """At most so many queries, among what was judged for them and a draw of the other documents: the number is its
        own, to compare with its like only."""
        split = data.splits["dev"]
        documents = split.documents
        assert documents is not None
        random = np.random.default_rng(DRAWN)
        asked = np.sort(random.permutation(len(split))[:PROBED_QUERIES])
        needed = {place for query in asked for place in documents.judged[query] if place >= 0}
        others = (place for place in random.permutation(len(documents.texts)).tolist() if place not in needed)
        room = range(max(0, PROBED_DOCUMENTS - len(needed)))
        kept = sorted(needed.union(place for place, _ in zip(others, room, strict=False)))
        places = {place: number for number, place in enumerate(kept)}
        fewer = Documents(
            [documents.texts[place] for place in kept],
            [{places.get(place, place): grade for place, grade in documents.judged[query].items()} for query in asked],
            np.array([places.get(int(documents.own[query]), -1) for query in asked]),
        )
        return Split([split.left[query] for query in asked], None, fewer.relevant, documents=fewer)


def measured(names: tuple[str, ...], found: list[list[int]], split: Split, part: str) -> Answers:
    """The answers of queries, from the documents that each found, the best first."""
    assert split.documents is not None
    each = [
        measures([place for place in ranked if place >= 0], judged)
        for ranked, judged in zip(found, split.documents.judged, strict=True)
    ]
    first, *others = ({name: np.array([one[name] for one in each])} for name in names)
    more = {name: values for other in others for name, values in other.items()}
    return Answers(first[names[0]], split.labels, more=more, split=part)
