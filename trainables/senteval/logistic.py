"""Classes as an owner of labels would read them from embeddings: by scikit-learn's logistic regression, fitted to its
end, and by the nearest neighbours, for which nothing is fitted.

Features are standardised, and then scaled so that a row has length 1 on average, whatever the encoder and its size: one
list of penalties serves all. Measured on TREC, SST-2, MR and SUBJ, 120 and 540 labels, MiniLM with 2 and 6 layers, as
it came and trained: standardised features won by up to 3 points over raw ones and those of unit length on TREC, and
elsewhere lay within a point of the best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trainables.senteval.folds import fold_numbers

PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Values of C, as scikit-learn has it, for the scaled features; the smaller, the stronger."""
NEIGHBOURS = 10
FOLDS = 5
MOST = 10_000
"""Labelled rows that are fitted at most: more would cost every trial more time than they tell of it."""
DRAWN = 2023
"""Draws those of more rows, and folds, whatever the seed of a trial."""
_ITERATIONS = 5000
"""At most; a fit takes tens or hundreds."""
_LEAST = np.log(1e-12)
"""Log probability of a class that no fitted row has, and the least of any other."""


@dataclass(frozen=True, eq=False)
class Read:
    """Rows as they were read by fits to other rows."""

    penalties: tuple[float, ...]
    likely: np.ndarray  # (penalties, rows, classes): log probabilities
    nearest: np.ndarray  # (rows,): the class of most of the nearest neighbours

    def right(self, labels: np.ndarray) -> np.ndarray:  # (rows,) -> (penalties, rows)
        """The log probability of each row's label."""
        return self.likely[:, np.arange(len(labels)), labels]

    def best(self, labels: np.ndarray) -> int:
        """The number of the penalty under which the labels are likeliest: of few rows it tells more than accuracy."""
        return int(self.right(labels).mean(axis=1).argmax())

    def classes(self, labels: np.ndarray) -> np.ndarray:
        """(rows,) Their classes, each under the penalty that is best for other rows: none has a say in its own."""
        right, found = self.right(labels), np.empty(len(labels), dtype=np.int64)
        fold = np.random.default_rng(DRAWN).permutation(len(labels)) % FOLDS
        for number in np.unique(fold):
            own = fold == number
            chosen = right[:, ~own if len(labels) > 1 else own].mean(axis=1).argmax()
            found[own] = self.likely[chosen, own].argmax(axis=1)
        return found


def read_classes(
    fitted: ArrayLike, labels: np.ndarray, rows: ArrayLike, classes: int, penalties: tuple[float, ...] = PENALTIES
) -> Read:
    """Read (rows, dim) by fits to (n, dim) with their (n,) labels, at most `MOST` of these, one for each penalty."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from threadpoolctl import threadpool_limits

    chosen = drawn(len(labels))
    labels, known, asked = labels[chosen], np.asarray(fitted, np.float64)[chosen], np.asarray(rows, np.float64)
    likely = np.full((len(penalties), len(asked), classes), _LEAST)
    there = np.unique(labels)
    with threadpool_limits(1):  # sums of several threads end otherwise in their last bits
        near = KNeighborsClassifier(min(NEIGHBOURS, len(labels)), weights="distance", algorithm="brute")
        nearest = near.fit(_of_unit_length(known), labels).predict(_of_unit_length(asked))
        if len(there) == 1:
            likely[:, :, there] = 0.0
            return Read(penalties, likely, nearest)
        mean, spread = known.mean(axis=0), known.std(axis=0)
        spread = np.where(spread > 0, spread, np.inf) * np.sqrt(max(1, np.count_nonzero(spread)))
        model = LogisticRegression(max_iter=_ITERATIONS, warm_start=True)
        for number, penalty in enumerate(penalties):
            model.set_params(C=penalty).fit((known - mean) / spread, labels)
            likely[number][:, there] = model.predict_log_proba((asked - mean) / spread)
    return Read(penalties, np.maximum(likely, _LEAST), nearest)


def read_in_folds(rows: ArrayLike, labels: np.ndarray, classes: int) -> Read:
    """Read (n, dim) by fits to the rows of the other folds; of the (n,) labels one must stand there twice."""
    features, fold = np.asarray(rows), fold_numbers(labels, FOLDS)
    assert fold is not None, "no label stands there twice"
    likely, nearest = np.empty((len(PENALTIES), len(labels), classes)), np.empty(len(labels), dtype=np.int64)
    for number in np.unique(fold):
        own = fold == number
        read = read_classes(features[~own], labels[~own], features[own], classes)
        likely[:, own], nearest[own] = read.likely, read.nearest
    return Read(PENALTIES, likely, nearest)


def drawn(count: int) -> np.ndarray:
    """(`MOST` at most,) Which of so many labelled rows are taken, in their order."""
    return np.sort(np.random.default_rng(DRAWN).permutation(count)[:MOST])


def _of_unit_length(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
