"""Hard negatives mined from the corpus: what an encoder finds near an anchor but farther than its positives.

    rules = Rules(each=3, skip=0, depth=50, share=0.05)
    table = mined_table(pairs, embed, rules)     # which candidates are negatives of which anchor
    with_negatives = with_table(pairs, table)

NV-Retriever (Moreira 2024, arXiv 2407.15831), section 4: a candidate that scores too much like the positive is taken
for a false negative, and left out: near the positive by a share of its score (TopK-PercPos) or by an amount
(TopK-MarginPos), or above a score (TopK-Abs). The index is exact: a product of all anchors with all candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from trainables.corpora.batch import Batch
from trainables.corpora.nli import NLIPairs
from trainables.corpora.samplers import GroupSampler
from trainables.errors import UnsuitedError
from trainables.labels import CONTRADICTION, ENTAILMENT

Embed = Callable[[Sequence[str]], np.ndarray]
"""Texts to (texts, dim)."""
AT_ONCE = 1024
"""Anchors that are compared with all candidates in one product, so that memory stays bounded."""


@dataclass(frozen=True)
class Rules:
    """Which texts are negatives. All scores are cosines with the anchor; the positive is its farthest one."""

    each: int
    """How many of them an anchor has, the nearest first; fewer where too few are left."""
    skip: int = 0
    """So many of the nearest that are left are passed over."""
    depth: int = 50
    """Among how many of the nearest texts they are."""
    share: float = 0.0
    """They score at least this share of the positive's score less than the positive."""
    margin: float | None = None
    """They score at least so much less than the positive."""
    highest: float | None = None
    """They score no more than this."""
    lowest: float | None = None
    """They score no less than this."""

    def fit(self, scores: np.ndarray, positive: float) -> np.ndarray:
        """Which scores are those of negatives, but for their rank; `positive`: the positive's."""
        fit = scores <= positive - abs(positive) * self.share
        for limit in (None if self.margin is None else positive - self.margin, self.highest):
            fit &= limit is None or scores <= limit
        return fit & (self.lowest is None or scores >= self.lowest)


def mined_table(pairs: NLIPairs, embed: Embed, rules: Rules) -> np.ndarray:  # (anchors, each) int64
    """The negatives of each anchor that has an entailed pair, as numbers of `candidates`; -1 for none.

    An anchor's own text and its positives are none; of equally near texts the corpus's first comes first.
    `UnsuitedError` where no anchor has any.
    """
    anchors, texts = _entailed(pairs), candidates(pairs)
    everything = list(dict.fromkeys([*texts, *(pairs.premises[rows[0]] for rows in anchors)]))
    place = {text: number for number, text in enumerate(everything)}
    vectors = np.asarray(embed(everything), dtype=np.float32)
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    table = np.full((len(anchors), rules.each), -1, dtype=np.int64)
    for start in range(0, len(anchors), AT_ONCE):
        some = anchors[start : start + AT_ONCE]
        near = vectors[[place[pairs.premises[rows[0]]] for rows in some]] @ vectors[: len(texts)].T
        for number, (rows, scores) in enumerate(zip(some, near, strict=True), start):
            own = [place[pairs.hypotheses[row]] for row in rows]
            positive = float(scores[own].min())
            scores[
                [candidate for candidate in (place[pairs.premises[rows[0]]], *own) if candidate < len(texts)]
            ] = -np.inf
            nearest = _nearest(scores, rules.depth)
            nearest = nearest[rules.fit(scores[nearest], positive) & (scores[nearest] > -np.inf)]
            chosen = nearest[rules.skip :][: rules.each]
            table[number, : len(chosen)] = chosen
    if (table < 0).all():
        raise UnsuitedError(
            "corpus.negatives_from=mined finds no negative for any anchor; take a smaller corpus.mined_margin or "
            "corpus.mined_skip, a larger corpus.mined_depth, or wider limits of scores"
        )
    return table


def with_table(pairs: NLIPairs, table: np.ndarray) -> NLIPairs:
    """The entailed pairs, and the negatives of a `mined_table` as contradictions.

    The entailed pairs come first: anchors keep their numbers in a sampler, and so their order in each epoch, whichever
    texts are their negatives. Of mined ones no teacher said anything.
    """
    anchors, texts = _entailed(pairs), candidates(pairs)
    anchor, column = np.nonzero(table >= 0)
    entailed = [row for rows in anchors for row in rows]
    of = [anchors[number][0] for number in anchor.tolist()]  # a row of the negative's anchor
    return replace(
        pairs,
        premises=[pairs.premises[row] for row in (*entailed, *of)],
        hypotheses=[*(pairs.hypotheses[row] for row in entailed), *(texts[i] for i in table[anchor, column].tolist())],
        labels=np.repeat(np.array([ENTAILMENT, CONTRADICTION], dtype=np.int8), [len(entailed), len(of)]),
        file=pairs.file[[*entailed, *of]],
        scores=None,
    )


def candidates(pairs: NLIPairs) -> list[str]:
    """The texts that negatives are taken from: all hypotheses, whatever their labels, each once."""
    return list(dict.fromkeys(pairs.hypotheses))


class RenewedSampler:
    """Groups whose hard negatives are mined anew every so many steps, by the encoder as it is by then.

    Whoever trains on them has new ones mined before the batch of such a step is asked for
    (`trainables.training.renewal`). The anchors of a step and their positives stay those of one table.
    """

    def __init__(
        self, pairs: NLIPairs, table: np.ndarray, rules: Rules, every: int, make: Callable[[NLIPairs], GroupSampler]
    ) -> None:
        """`table`: of the encoder as it starts; `make`: a sampler of pairs with negatives."""
        self.pairs, self.rules, self.every, self._make = pairs, rules, every, make
        self.take(table)

    @property
    def steps_per_epoch(self) -> int:
        return self._sampler.steps_per_epoch

    @property
    def texts(self) -> list[str]:
        """All that any batch may hold, each once."""
        return list(dict.fromkeys([*self.pairs.premises, *self.pairs.hypotheses]))

    def batch(self, step: int) -> Batch:
        return self._sampler.batch(step)

    def renews(self, step: int) -> bool:
        """Whether negatives are mined anew before a step, counted from 0."""
        return step > 0 and step % self.every == 0

    def mine(self, embed: Embed) -> np.ndarray:
        """The table by another encoder."""
        return mined_table(self.pairs, embed, self.rules)

    def take(self, table: np.ndarray) -> None:
        """Go on with these negatives."""
        self.table, self._sampler = table, self._make(with_table(self.pairs, table))


def _entailed(pairs: NLIPairs) -> list[list[int]]:
    """The entailed rows of each anchor, which stand together."""
    rows = np.flatnonzero(pairs.labels == ENTAILMENT).tolist()
    return [list(group) for _, group in groupby(rows, key=pairs.premises.__getitem__)]


def _nearest(scores: np.ndarray, depth: int) -> np.ndarray:
    """The places of the largest so many, the largest first, and of equal ones the first place first."""
    least = np.partition(scores, -depth)[-depth] if depth < len(scores) else -np.inf
    places = np.flatnonzero(scores >= least)
    return np.asarray(places[np.argsort(-scores[places], kind="stable")][:depth])
