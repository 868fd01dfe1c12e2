"""Hard negatives mined from the corpus: what an encoder finds near an anchor but farther than its positives.

    rules = Mining(mined_skip=0, mined_depth=50, mined_margin=0.05)
    table = mined_table(pairs, embed, rules, 3)     # which candidates are negatives of which anchor, at most 3
    with_negatives = with_table(pairs, table)

NV-Retriever (Moreira 2024, arXiv 2407.15831), section 4: a candidate that scores too much like the positive is taken
for a false negative, and left out: near the positive by a share of its score (TopK-PercPos) or by an amount
(TopK-MarginPos), or above a score (TopK-Abs). The index is exact: a product of all anchors with all candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

import numpy as np

from trainables.corpora.batch import Batch
from trainables.corpora.nli import NLIPairs
from trainables.corpora.samplers import GroupSampler
from trainables.errors import UnsuitedError, UserError
from trainables.keys import Options, Range, at_least, between, key
from trainables.labels import CONTRADICTION, ENTAILMENT
from trainables.sections import EncoderConfig

Embed = Callable[[Sequence[str]], np.ndarray]
"""Texts to (texts, dim)."""
_MINED = ("negatives_from", "mined".__eq__)
"""Where the keys of mining mean something."""
AT_ONCE = 1024
"""Anchors that are compared with all candidates in one product, so that memory stays bounded."""


@dataclass(frozen=True)
class Mining(Options):
    """Which texts are negatives, the nearest first. All scores are cosines with the anchor."""

    section = "corpus"

    negatives_from: Literal["labels", "mined"] = key(
        "labels",
        "Hard negatives: labels: the pairs labelled contradiction; mined: texts of the corpus that the encoder, as it "
        "starts, finds near the anchor (NV-Retriever).",
        search=("labels", "mined"),
    )
    mined_by: str | None = key(
        None,
        "Hub id or folder of the frozen encoder that mines, with its own pooling; none takes the one that is trained.",
        place=True,
        when=_MINED,
    )
    mined_every: int | None = key(
        None,
        "After how many steps negatives are mined anew, by the encoder as it is by then; none mines once.",
        at_least(1),
        when=_MINED,
    )
    mined_skip: int = key(0, "How many of the nearest texts are passed over.", at_least(0), when=_MINED)
    mined_depth: int = key(50, "Among how many of the nearest texts negatives are.", at_least(1), when=_MINED)
    mined_margin: float = key(
        0.05,
        "A text is no negative where its cosine with the anchor is above that of the anchor's farthest positive, less "
        "this share of it (NV-Retriever's 95 %).",
        label="margin of mining",
        search=Range(0.0, 0.3),
        when=_MINED,
    )
    mined_absolute_margin: float | None = key(
        None,
        "Nor is it one where its cosine is above that positive's less this number; none sets no such limit.",
        search=Range(0.0, 0.3),
        when=_MINED,
    )
    mined_max_score: float | None = key(
        None,
        "Nor where its cosine is above this; none sets no such limit.",
        between(-1.0, 1.0),
        search=Range(0.5, 1.0),
        when=_MINED,
    )
    mined_min_score: float | None = key(
        None,
        "Nor where its cosine is below this; none sets no such limit.",
        between(-1.0, 1.0),
        search=Range(-0.2, 0.5),
        when=_MINED,
    )

    @property
    def mines(self) -> bool:
        return self.negatives_from == "mined"

    @property
    def miner(self) -> EncoderConfig | None:
        return None if self.mined_by is None else EncoderConfig(name=self.mined_by)

    def check_mining(self, negatives: int | None) -> None:
        """`UserError` for keys that go against each other; `negatives`: how many an anchor is to have."""
        if not negatives:
            raise UserError(
                "corpus.negatives_from=mined needs a number of hard negatives; set objective.negatives to one"
            )
        if self.mined_skip >= self.mined_depth:
            raise UserError(
                f"corpus.mined_skip={self.mined_skip} passes over all of the nearest {self.mined_depth} texts "
                "(corpus.mined_depth); take less"
            )
        if self.mined_by is not None and self.mined_every is not None:
            raise UserError(
                "corpus.mined_every mines by the encoder as it changes, and corpus.mined_by names one that finds "
                "the same again; leave out one of the two"
            )

    def fit(self, scores: np.ndarray, positive: float) -> np.ndarray:
        """Which scores are those of negatives, but for their rank; `positive`: the positive's."""
        fit = scores <= positive - abs(positive) * self.mined_margin
        if self.mined_absolute_margin is not None:
            fit &= scores <= positive - self.mined_absolute_margin
        if self.mined_max_score is not None:
            fit &= scores <= self.mined_max_score
        return fit if self.mined_min_score is None else fit & (scores >= self.mined_min_score)


def mined_table(pairs: NLIPairs, embed: Embed, rules: Mining, each: int) -> np.ndarray:  # (anchors, each) int64
    """The negatives of each anchor that has an entailed pair, as numbers of `candidates`; -1 for none.

    An anchor has less than `each` where too few fit; its own text and its positives are none. Of equally near texts the
    corpus's first comes first. `UnsuitedError` where no anchor has any.
    """
    anchors, texts = _entailed(pairs), candidates(pairs)
    everything = list(dict.fromkeys([*texts, *(pairs.premises[rows[0]] for rows in anchors)]))
    place = {text: number for number, text in enumerate(everything)}
    vectors = np.asarray(embed(everything), dtype=np.float32)
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    table = np.full((len(anchors), each), -1, dtype=np.int64)
    for start in range(0, len(anchors), AT_ONCE):
        some = anchors[start : start + AT_ONCE]
        near = vectors[[place[pairs.premises[rows[0]]] for rows in some]] @ vectors[: len(texts)].T
        for number, (rows, scores) in enumerate(zip(some, near, strict=True), start):
            own = [place[pairs.hypotheses[row]] for row in rows]
            positive = float(scores[own].min())
            scores[
                [candidate for candidate in (place[pairs.premises[rows[0]]], *own) if candidate < len(texts)]
            ] = -np.inf
            nearest = _nearest(scores, rules.mined_depth)
            nearest = nearest[rules.fit(scores[nearest], positive) & (scores[nearest] > -np.inf)]
            chosen = nearest[rules.mined_skip :][:each]
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
        self, pairs: NLIPairs, table: np.ndarray, rules: Mining, every: int, make: Callable[[NLIPairs], GroupSampler]
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
        return mined_table(self.pairs, embed, self.rules, self.table.shape[1])

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
