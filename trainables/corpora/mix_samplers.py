"""Batches of several samplers: one of them at a time, or a part of each in every batch.

Like the samplers that they are made of they are pure functions of the seed and the step.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from trainables.corpora.batch import Batch, Prompts, Sampler
from trainables.corpora.shuffled import once_an_epoch

_GROUPS_APART = 1 << 40
"""Between the numbers of the groups of two corpora."""


def shared_out(total: int, weights: Sequence[float]) -> list[int]:
    """Whole numbers that add up to `total`, at least 1 each, as near to the weights as can be: largest remainders."""
    ideal = total * np.array(weights, dtype=np.float64) / np.sum(weights)
    shares = np.maximum(np.floor(ideal).astype(np.int64), 1)
    while shares.sum() < total:
        shares[np.argmax(ideal - shares)] += 1
    while shares.sum() > total:  # those that were lifted to 1 take it from the largest surplus
        shares[np.argmax(np.where(shares > 1, shares - ideal, -np.inf))] -= 1
    return [int(count) for count in shares]


class OneCorpusABatch:
    """In an epoch so many batches of each corpus (`counts`), shuffled or in turn; each goes on with its own batches."""

    def __init__(
        self,
        samplers: Sequence[Sampler],
        counts: Sequence[int],
        prompts: Sequence[Prompts | None],
        seed: int,
        *,
        in_turn: bool,
    ) -> None:
        self.samplers, self.counts, self.prompts, self.seed, self.in_turn = samplers, counts, prompts, seed, in_turn
        self.steps_per_epoch = sum(counts)

    def batch(self, step: int) -> Batch:
        epoch, place = divmod(step, self.steps_per_epoch)
        order = self._order(epoch)
        chosen = int(order[place])
        before = int((order[:place] == chosen).sum())
        batch = self.samplers[chosen].batch(epoch * self.counts[chosen] + before)
        prompts = self.prompts[chosen]
        return dataclasses.replace(batch, prompts=prompts and [prompts] * len(batch.sentences))

    @once_an_epoch
    def _order(self, epoch: int) -> np.ndarray:
        """(batches,) int64: the corpus of each."""
        order = np.repeat(np.arange(len(self.counts)), self.counts)
        if self.in_turn:
            turn = np.concatenate([np.arange(count) for count in self.counts])
            return order[np.lexsort((order, turn))]
        return np.random.default_rng([self.seed, epoch, 7]).permutation(order)


class Joined:
    """Each batch joins one of every sampler; a text of several corpora is one item, unless prompts differ."""

    def __init__(self, samplers: Sequence[Sampler], steps: int, prompts: Sequence[Prompts | None]) -> None:
        self.samplers, self.prompts = samplers, prompts
        self.steps_per_epoch = steps
        """Batches in which all corpora together are seen once."""

    def batch(self, step: int) -> Batch:
        return joined([sampler.batch(step) for sampler in self.samplers], self.prompts)


def joined(batches: Sequence[Batch], prompts: Sequence[Prompts | None]) -> Batch:
    """One batch of several. Further views of a text within one stay items of their own."""
    sentences, before = list[str](), list[Prompts]()
    item_of = dict[tuple[str, Prompts], int]()
    place = list[np.ndarray]()  # of each batch's items
    for batch, prompt in zip(batches, prompts, strict=True):
        prefix, mine, new = prompt or (None, None), set[str](), dict[tuple[str, Prompts], int]()
        items = []
        for text in batch.sentences:
            item = item_of.get((text, prefix)) if text not in mine else None
            if item is None:
                item = len(sentences)
                sentences.append(text)
                before.append(prefix)
                new.setdefault((text, prefix), item)
            mine.add(text)
            items.append(item)
        item_of = {**new, **item_of}
        place.append(np.array(items, dtype=np.int64))
    scores = [batch.score for batch in batches if batch.score is not None]
    return Batch(
        sentences=sentences,
        premise=np.concatenate([items[batch.premise] for items, batch in zip(place, batches, strict=True)]),
        hypothesis=np.concatenate([items[batch.hypothesis] for items, batch in zip(place, batches, strict=True)]),
        label=np.concatenate([batch.label for batch in batches]),
        group=np.concatenate([batch.group + number * _GROUPS_APART for number, batch in enumerate(batches)]),
        score=np.concatenate(scores) if len(scores) == len(batches) else None,
        prompts=before if any(prompts) else None,
    )
