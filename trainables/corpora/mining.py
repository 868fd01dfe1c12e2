"""Hard negatives that are found and not labelled: texts that lie near an anchor and are none of its positives.

Every text of the corpus that is a positive of some anchor, or was labelled otherwise, is a candidate. An exact search
ranks them by their cosine with the anchor; what is the anchor's own text or one of its positives is left out, and so is
what comes too near to the positive, since it may be one that nobody labelled (NV-Retriever, arXiv 2407.15831).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from trainables.corpora.nli import NLIPairs
from trainables.errors import UserError
from trainables.labels import CONTRADICTION, ENTAILMENT

Embed = Callable[[Sequence[str]], np.ndarray]
"""Texts to (texts, dim)."""
AT_ONCE = 1024
"""Anchors that are compared with all candidates in one product, so that memory stays bounded."""


def with_mined(pairs: NLIPairs, embed: Embed, each: int, skip: int, depth: int, margin: float) -> NLIPairs:
    """The entailed pairs, and as contradictions of each anchor the nearest `each` candidates of those from rank `skip`
    to `depth` whose cosine is at most that of the anchor's farthest positive, less a share `margin` of it.

    Where too few are left an anchor has fewer. Deterministic: of equally near ones the first of the corpus comes first.
    `UserError` where no anchor has any.
    """
    entailed = np.flatnonzero(pairs.labels == ENTAILMENT)
    anchors = [pairs.premises[row] for row in entailed]
    new = [place == 0 or anchor != anchors[place - 1] for place, anchor in enumerate(anchors)]
    groups = np.split(entailed, np.flatnonzero(new)[1:])  # rows of one premise stand together
    candidates = list(dict.fromkeys(pairs.hypotheses))
    texts = list(dict.fromkeys([*candidates, *anchors]))
    place = {text: i for i, text in enumerate(texts)}
    vectors = np.asarray(embed(texts), dtype=np.float32)
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    premises, hypotheses, labels, file = list[str](), list[str](), list[int](), list[int]()
    for start in range(0, len(groups), AT_ONCE):
        some = groups[start : start + AT_ONCE]
        near = vectors[[place[pairs.premises[rows[0]]] for rows in some]] @ vectors[: len(candidates)].T
        for rows, scores in zip(some, near, strict=True):
            premise, positives = pairs.premises[rows[0]], [pairs.hypotheses[row] for row in rows]
            farthest = scores[[place[text] for text in positives]].min()
            scores[[i for text in (premise, *positives) if (i := place[text]) < len(candidates)]] = -np.inf
            nearest = _nearest(scores, depth)
            nearest = nearest[scores[nearest] <= farthest - abs(farthest) * margin][skip:][:each]
            negatives = [candidates[i] for i in nearest if scores[i] > -np.inf]
            premises += [premise] * (len(rows) + len(negatives))
            hypotheses += [*positives, *negatives]
            labels += [ENTAILMENT] * len(rows) + [CONTRADICTION] * len(negatives)
            file += [*pairs.file[rows].tolist(), *[int(pairs.file[rows[0]])] * len(negatives)]
    if CONTRADICTION not in labels:
        raise UserError(
            "corpus.negatives_from=mined finds no negative for any anchor; take a smaller corpus.mined_margin or "
            "corpus.mined_skip, or a larger corpus.mined_depth"
        )
    coded = np.array(labels, dtype=np.int8)
    return replace(pairs, premises=premises, hypotheses=hypotheses, labels=coded, file=np.array(file, dtype=np.int16))


def _nearest(scores: np.ndarray, depth: int) -> np.ndarray:
    """The places of the largest so many, the largest first, and of equal ones the first place first."""
    least = np.partition(scores, -depth)[-depth] if depth < len(scores) else -np.inf
    places = np.flatnonzero(scores >= least)
    return np.asarray(places[np.argsort(-scores[places], kind="stable")][:depth])
