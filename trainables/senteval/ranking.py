"""Measures of rankings: trec_eval's for the documents of a query, with a search for the nearest; average precision for
pairs; recalls for captions and images. Loads torch only for the search."""

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
"""Number of documents that are ranked for a query, as in runs of TREC; later documents count as not found."""
QUERIES_AT_ONCE, DOCUMENTS_AT_ONCE = 512, 16_384
"""Numbers of queries and of documents in a block of cosines in memory: 64 MiB."""
CAPTIONS = 5
"""Captions per image."""
FOLDS = 5
FOLD_IMAGES = 1000
"""Images per fold, or a fifth of all images if there are fewer."""
DIRECTIONS = ("i2t", "t2i")
RECALL_DEPTHS = (1, 5, 10)


def measures(ranked: Sequence[int], judged: Mapping[int, int]) -> dict[str, float]:
    """Return all four measures of one query, from 0 to 1, from its ranked documents, best first, and the grades of
    judged documents; 0 if none is relevant. The gain of a document is its grade."""
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
    """Return the numbers of the documents with the highest cosines, best first, (queries, most); of equal cosines the
    first document comes first; -1 for documents that are not found.

    `queries` and `documents` are rows of `embeddings`; `own` is the document that a query must not find, or -1. The
    search is exact, and keeps one block of cosines in memory at a time.
    """
    parts = [_unit(embeddings[part]) for part in queries.split(QUERIES_AT_ONCE)]
    best = [torch.full((len(part), min(most, len(documents))), _NOTHING) for part in parts]
    owns = own.split(QUERIES_AT_ONCE)
    for start in range(0, len(documents), DOCUMENTS_AT_ONCE):
        block = _unit(embeddings[documents[start : start + DOCUMENTS_AT_ONCE]])
        for index, (part, mine) in enumerate(zip(parts, owns, strict=True)):
            steps = (part @ block.T).mul_(STEPS).round_()
            own_rows = ((mine >= start) & (mine < start + len(block))).nonzero()[:, 0]
            steps[own_rows, mine[own_rows] - start] = -math.inf
            best[index] = _better(best[index], steps, start)
    rankings = torch.cat(best)
    return torch.where(rankings == _NOTHING, -1, _LAST - (rankings & _LAST))


STEPS = 2**24
"""Steps of a rounded cosine from 0 to 1, as in float32, so that equal texts are equally near in whichever block."""
_LAST = 2**32 - 1
_NOTHING = -(2**63)


def _better(best: Tensor, steps: Tensor, start: int) -> Tensor:
    """Return the best keys, (queries, found), of the best so far and of a block of documents from number `start` on. A
    key is the steps of the cosine and, in lower bits, `_LAST` minus the document's number: no two are equal."""
    lowest = (best[:, -1] >> 32).double()
    rows, columns = ((steps >= lowest[:, None]) & (steps > -math.inf)).nonzero(as_tuple=True)
    keys = (steps[rows, columns].long() << 32) + (_LAST - start - columns)
    counts = torch.bincount(rows, minlength=len(best))
    positions = torch.arange(len(rows)) - (counts.cumsum(0) - counts)[rows]
    new = best.new_full((len(best), int(counts.max())), _NOTHING)
    new[rows, positions] = keys
    return torch.cat([best, new], dim=1).topk(best.shape[1], dim=1).values


def _unit(rows: Tensor) -> Tensor:
    """Return rows of length one, float64; zeros stay zeros."""
    return torch.nn.functional.normalize(rows.double(), dim=1)


def average_precision(predicted: np.ndarray, gold: np.ndarray) -> float:
    """Return the mean, from 0 to 1, over items of label 1 of the share of label 1 among items with an equal or higher
    prediction; 0 if no item has label 1."""
    hits, higher = counts_at_or_above(predicted, gold)
    right = np.asarray(gold) == 1
    return float((hits / higher)[right].mean()) if right.any() else 0.0


def counts_at_or_above(predicted: np.ndarray, gold: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each item how many items of label 1, and how many of all items, have an equal or higher prediction."""
    _, group = np.unique(predicted, return_inverse=True)
    sizes, hits = np.bincount(group), np.bincount(group, weights=np.asarray(gold) == 1)
    return hits[::-1].cumsum()[::-1][group], sizes[::-1].cumsum()[::-1][group]


def best_threshold(predicted: np.ndarray, gold: np.ndarray) -> float:
    """Return the threshold with the best F1 of label 1 for predictions that reach it; of several the highest. It is
    half-way between two neighbouring predictions, or the lowest one."""
    hits, higher = counts_at_or_above(predicted, gold)
    f1 = 2 * hits / (higher + (np.asarray(gold) == 1).sum())
    chosen = predicted[f1 == f1.max()].max()
    below = predicted[predicted < chosen]
    return float((chosen + below.max()) / 2) if len(below) else float(chosen)


def fold_size(images: int) -> int:
    """Return the number of images of each fold."""
    return min(FOLD_IMAGES, images // FOLDS)


def recalls(to_images: np.ndarray, to_captions: np.ndarray) -> dict[str, float]:
    """Return the mean over folds of R@1, 5 and 10 in percent, both ways. `to_images`, (captions,), counts the images
    nearer than a caption's own; `to_captions`, (images,), the captions nearer than the nearest of an image's own."""
    return {
        f"{way}_r{k}": float(np.mean([100 * (fold < k).mean() for fold in np.split(ranks, FOLDS)]))
        for way, ranks in (("i2t", to_captions), ("t2i", to_images))
        for k in RECALL_DEPTHS
    }
