"""Hard negatives mined from the corpus: texts that an encoder finds near an anchor, but farther than its positives.

    rules = Mining(mined_skip=0, mined_depth=50, mined_margin=0.05)
    table = mined_table(pairs, embed, rules, 3)     # the candidates that are negatives of each anchor, at most 3
    with_negatives = add_negatives(pairs, table)

NV-Retriever (Moreira 2024, arXiv 2407.15831), section 4: a candidate with too high a score counts as a false negative,
and is left out. The limit is a share of the positive's score (TopK-PercPos), the positive's score less a margin
(TopK-MarginPos), or a fixed score (TopK-Abs). The search is exact: a product of all anchors with all candidates.
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
"""Maps texts to embeddings, (texts, dim)."""
_MINED = ("negatives_from", "mined".__eq__)
"""Condition under which the keys of mining apply."""
ANCHORS_AT_ONCE = 1024
"""Number of anchors compared with all candidates in one product, which bounds memory."""


@dataclass(frozen=True)
class Mining(Options):
    """Rules that choose negatives, nearest texts first. All scores are cosines with the anchor."""

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
        is_path=True,
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
        """Raise `UserError` for keys that contradict each other. `negatives`: number of negatives of an anchor."""
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

    def allows(self, scores: np.ndarray, positive: float) -> np.ndarray:
        """Return whether texts with these scores may be negatives, whatever their rank. `positive`: lowest score of a
        positive."""
        allowed = scores <= positive - abs(positive) * self.mined_margin
        if self.mined_absolute_margin is not None:
            allowed &= scores <= positive - self.mined_absolute_margin
        if self.mined_max_score is not None:
            allowed &= scores <= self.mined_max_score
        return allowed if self.mined_min_score is None else allowed & (scores >= self.mined_min_score)


def mined_table(pairs: NLIPairs, embed: Embed, rules: Mining, each: int) -> np.ndarray:  # (anchors, each) int64
    """Return the negatives of each anchor with an entailed pair, as indices into `candidates`; -1: no negative.

    An anchor has fewer than `each` negatives if too few texts fit. Its own text and its positives are never negatives.
    Equally near texts are in corpus order. `UnsuitedError` if no anchor has a negative.
    """
    anchors, texts = _entailed(pairs), candidates(pairs)
    everything = list(dict.fromkeys([*texts, *(pairs.premises[rows[0]] for rows in anchors)]))
    index_of = {text: number for number, text in enumerate(everything)}
    vectors = np.asarray(embed(everything), dtype=np.float32)
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    table = np.full((len(anchors), each), -1, dtype=np.int64)
    for start in range(0, len(anchors), ANCHORS_AT_ONCE):
        some = anchors[start : start + ANCHORS_AT_ONCE]
        near = vectors[[index_of[pairs.premises[rows[0]]] for rows in some]] @ vectors[: len(texts)].T
        for number, (rows, scores) in enumerate(zip(some, near, strict=True), start):
            own = [index_of[pairs.hypotheses[row]] for row in rows]
            positive = float(scores[own].min())
            scores[
                [candidate for candidate in (index_of[pairs.premises[rows[0]]], *own) if candidate < len(texts)]
            ] = -np.inf
            nearest = _nearest(scores, rules.mined_depth)
            nearest = nearest[rules.allows(scores[nearest], positive) & (scores[nearest] > -np.inf)]
            chosen = nearest[rules.mined_skip :][:each]
            table[number, : len(chosen)] = chosen
    if (table < 0).all():
        raise UnsuitedError(
            "corpus.negatives_from=mined finds no negative for any anchor; take a smaller corpus.mined_margin or "
            "corpus.mined_skip, a larger corpus.mined_depth, or wider limits of scores"
        )
    return table


def add_negatives(pairs: NLIPairs, table: np.ndarray) -> NLIPairs:
    """Return the entailed pairs, and the negatives of a `mined_table` as contradictions.

    The entailed pairs come first, so that a sampler numbers and orders the anchors in the same way whatever the
    negatives are. A teacher's scores are dropped, because mined negatives have none.
    """
    anchors, texts = _entailed(pairs), candidates(pairs)
    anchor, column = np.nonzero(table >= 0)
    entailed = [row for rows in anchors for row in rows]
    anchor_rows = [anchors[number][0] for number in anchor.tolist()]  # a row of each negative's anchor
    return replace(
        pairs,
        premises=[pairs.premises[row] for row in (*entailed, *anchor_rows)],
        hypotheses=[*(pairs.hypotheses[row] for row in entailed), *(texts[i] for i in table[anchor, column].tolist())],
        labels=np.repeat(np.array([ENTAILMENT, CONTRADICTION], dtype=np.int8), [len(entailed), len(anchor_rows)]),
        file=pairs.file[[*entailed, *anchor_rows]],
        scores=None,
    )


def candidates(pairs: NLIPairs) -> list[str]:
    """Return the texts that may become negatives: all hypotheses with any label, each once."""
    return list(dict.fromkeys(pairs.hypotheses))


class RenewedSampler:
    """Sampler of groups whose hard negatives are mined again every `every` steps, by the encoder in training.

    `trainables.training.renewal` mines the negatives before it requests the batch of such a step. A new table changes
    only the negatives of a batch, not the anchors and positives.
    """

    def __init__(
        self, pairs: NLIPairs, table: np.ndarray, rules: Mining, every: int, make: Callable[[NLIPairs], GroupSampler]
    ) -> None:
        """`table`: negatives mined by the original encoder. `make`: makes a sampler from pairs with negatives."""
        self.pairs, self.rules, self.every, self._make = pairs, rules, every, make
        self.set_table(table)

    @property
    def steps_per_epoch(self) -> int:
        return self._sampler.steps_per_epoch

    @property
    def texts(self) -> list[str]:
        """All texts that a batch may contain, each once."""
        return list(dict.fromkeys([*self.pairs.premises, *self.pairs.hypotheses]))

    def batch(self, step: int) -> Batch:
        return self._sampler.batch(step)

    def renews(self, step: int) -> bool:
        """Whether negatives are mined again before a step, counted from 0."""
        return step > 0 and step % self.every == 0

    def mine(self, embed: Embed) -> np.ndarray:
        """Return a new table of negatives; `set_table` applies it."""
        return mined_table(self.pairs, embed, self.rules, self.table.shape[1])

    def set_table(self, table: np.ndarray) -> None:
        """Use the negatives of this table from now on."""
        self.table, self._sampler = table, self._make(add_negatives(self.pairs, table))


def _entailed(pairs: NLIPairs) -> list[list[int]]:
    """Return the entailed rows of each anchor. Rows of one anchor must be neighbours."""
    rows = np.flatnonzero(pairs.labels == ENTAILMENT).tolist()
    return [list(group) for _, group in groupby(rows, key=pairs.premises.__getitem__)]


def _nearest(scores: np.ndarray, depth: int) -> np.ndarray:
    """Return the indices of the `depth` largest scores, largest first; equal scores in order of index."""
    least = np.partition(scores, -depth)[-depth] if depth < len(scores) else -np.inf
    indices = np.flatnonzero(scores >= least)
    return np.asarray(indices[np.argsort(-scores[indices], kind="stable")][:depth])
