"""How well what is right is ranked: documents for a query by trec_eval's measures, with a search for the nearest; pairs
by average precision; captions and images by recalls. Loads torch only for the search.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from trainables.lazy_torch import torch

if TYPE_CHECKING:
    from torch import Tensor

NDCG, MRR, MAP, RECALL = "ndcg@10", "mrr@10", "map", "recall@100"
DEPTH = 1000
"""So many documents are ranked for a query, as runs of TREC are; those after count as not found."""
QUERIES_AT_ONCE, DOCUMENTS_AT_ONCE = 512, 16_384
"""Whose cosines are held together: 64 MiB."""
CAPTIONS = 5
"""Captions of an image."""
FOLDS = 5
FOLD_IMAGES = 1000
"""Images of a fold, or a fifth of them where there are fewer."""
WAYS = ("i2t", "t2i")
AT = (1, 5, 10)


def measures(ranked: Sequence[int], judged: Mapping[int, int]) -> dict[str, float]:
    """All four of one query, from 0 to 1: from its documents, the best first, and how relevant those are that were
    judged; 0 where none is relevant. The gain of a document is its grade."""
    grades = [max(0, judged.get(document, 0)) for document in ranked]
    relevant = sorted((grade for grade in judged.values() if grade > 0), reverse=True)
    ranks = [rank for rank, grade in enumerate(grades, start=1) if grade]
    ideal, count = _gain(relevant[:10]), len(relevant)
    return {
        NDCG: _gain(grades[:10]) / ideal if count else 0.0,
        MRR: 1 / ranks[0] if ranks and ranks[0] <= 10 else 0.0,
        MAP: math.fsum(hits / rank for hits, rank in enumerate(ranks, start=1)) / count if count else 0.0,
        RECALL: sum(rank <= 100 for rank in ranks) / count if count else 0.0,
    }


def _gain(grades: Sequence[int]) -> float:
    return math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def nearest(embeddings: Tensor, queries: Tensor, documents: Tensor, own: Tensor, most: int = DEPTH) -> Tensor:
    """(queries, most) Numbers of the documents with the highest cosines, the best first; of equal ones the first; -1
    beyond.

    `queries` and `documents` are rows of `embeddings`; `own` is the document that a query does not find, or -1. The
    search is exact, and holds one block of cosines at a time.
    """
    parts = [_unit(embeddings[part]) for part in queries.split(QUERIES_AT_ONCE)]
    best = [torch.full((len(part), min(most, len(documents))), _NOTHING) for part in parts]
    owns = own.split(QUERIES_AT_ONCE)
    for start in range(0, len(documents), DOCUMENTS_AT_ONCE):
        block = _unit(embeddings[documents[start : start + DOCUMENTS_AT_ONCE]])
        for place, (part, mine) in enumerate(zip(parts, owns, strict=True)):
            steps = (part @ block.T).mul_(STEPS).round_()
            own_rows = ((mine >= start) & (mine < start + len(block))).nonzero()[:, 0]
            steps[own_rows, mine[own_rows] - start] = -math.inf
            best[place] = _better(best[place], steps, start)
    rankings = torch.cat(best)
    return torch.where(rankings == _NOTHING, -1, _LAST - (rankings & _LAST))


STEPS = 2**24
"""So many steps has a cosine from 0 to 1, as in float32: equal texts are equally near, whatever block they stand in."""
_LAST = 2**32 - 1
_NOTHING = -(2**63)


def _better(best: Tensor, steps: Tensor, start: int) -> Tensor:
    """(queries, found) The best keys, of those so far and of a block of documents from that number on. A key has the
    steps of the cosine, and below them what is left to the largest number: no two are equal."""
    lowest = (best[:, -1] >> 32).double()
    rows, columns = ((steps >= lowest[:, None]) & (steps > -math.inf)).nonzero(as_tuple=True)
    keys = (steps[rows, columns].long() << 32) + (_LAST - start - columns)
    counts = torch.bincount(rows, minlength=len(best))
    places = torch.arange(len(rows)) - (counts.cumsum(0) - counts)[rows]
    new = best.new_full((len(best), int(counts.max())), _NOTHING)
    new[rows, places] = keys
    return torch.cat([best, new], dim=1).topk(best.shape[1], dim=1).values


def _unit(rows: Tensor) -> Tensor:
    """Of length one, float64; zeros stay zeros."""
    return torch.nn.functional.normalize(rows.double(), dim=1)


def average_precision(predicted: np.ndarray, gold: np.ndarray) -> float:
    """From 0 to 1: the mean over the items of label 1 of the share of label 1 among those that lie as high or higher.
    0 where there is none."""
    hits, higher = as_high(predicted, gold)
    right = np.asarray(gold) == 1
    return float((hits / higher)[right].mean()) if right.any() else 0.0


def as_high(predicted: np.ndarray, gold: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(items,) each: how many items of label 1 lie as high as this one or higher, and how many items do."""
    _, group = np.unique(predicted, return_inverse=True)
    sizes, hits = np.bincount(group), np.bincount(group, weights=np.asarray(gold) == 1)
    return hits[::-1].cumsum()[::-1][group], sizes[::-1].cumsum()[::-1][group]


def best_threshold(predicted: np.ndarray, gold: np.ndarray) -> float:
    """The one with the best F1 of label 1 where an item that lies as high or higher is given label 1; half-way to the
    next item below. Of several the highest."""
    hits, higher = as_high(predicted, gold)
    f1 = 2 * hits / (higher + (np.asarray(gold) == 1).sum())
    chosen = predicted[f1 == f1.max()].max()
    below = predicted[predicted < chosen]
    return float((chosen + below.max()) / 2) if len(below) else float(chosen)


def fold_size(images: int) -> int:
    """How many images each fold has."""
    return min(FOLD_IMAGES, images // FOLDS)


def recalls(to_images: np.ndarray, to_captions: np.ndarray) -> dict[str, float]:
    """Mean over folds of R@1, 5 and 10 in percent, both ways: from (captions,) how many images lie nearer than a
    caption's own, and from (images,) how many captions lie nearer than the nearest of an image's own."""
    return {
        f"{way}_r{k}": float(np.mean([100 * (fold < k).mean() for fold in np.split(ranks, FOLDS)]))
        for way, ranks in (("i2t", to_captions), ("t2i", to_images))
        for k in AT
    }
