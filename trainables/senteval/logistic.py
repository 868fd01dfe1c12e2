"""Classes as an owner of labels would read them from embeddings: by scikit-learn's logistic regression, fitted to its
end, with a penalty that folds of the labelled rows choose; and by the nearest neighbours, for which nothing is fitted.

Features are standardised, and then scaled so that a row has length 1 on average, whatever the encoder and its size: one
list of penalties serves all. Measured on TREC, SST-2, MR and SUBJ with 120 and 540 labels, MiniLM of 2 and 6 layers as
it came and trained: standardised features won by up to 4 points over raw ones and 3 over those of unit length (TREC),
and lost 2.2 at most (SST-2, 120 labels, trained). Folds chose within 2 points of the best penalty for the tests, for
trained encoders too, whose training rows they have seen; 12 rows of a development part may choose no better than by
chance. Rows of a group, as pairs that share a text, are in one fold: of a premise with a hypothesis of each label, two
teach that the third has another one. Six layers as they came, 1,500 pairs of MultiNLI: 48 % in divided groups, 54 % in
whole ones; by neighbours 25 and 43.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trainables.arrays import drawn
from trainables.senteval.folds import SEED, fold_numbers

PENALTIES = (0.4, 1.6, 6.4, 25.6, 102.4)
"""Values of C, as scikit-learn has it, for the scaled features; the smaller, the stronger."""
NEIGHBOURS = 10
FOLDS = 5
MOST, CHOOSING = 10_000, 1_000
"""Labelled rows that are fitted at most, and those of them whose folds choose the penalty: more would cost every trial
more time than they tell of it."""
_ITERATIONS = 5000
"""At most; a fit takes tens or hundreds."""


@dataclass(frozen=True, eq=False)
class Read:
    """(rows,) each: the class of each row."""

    regressed: np.ndarray
    nearest: np.ndarray
    """That of most of the nearest neighbours, the nearer the more."""


def read_classes(fitted: ArrayLike, labels: np.ndarray, rows: ArrayLike, groups: np.ndarray | None = None) -> Read:
    """Read (rows, dim) by (n, dim) with their (n,) labels and groups, of which at most `MOST` are drawn."""
    from sklearn.neighbors import KNeighborsClassifier
    from threadpoolctl import threadpool_limits

    chosen = drawn(len(labels), MOST)
    groups = None if groups is None else groups[chosen]
    labels, known, unread = labels[chosen], np.asarray(fitted, np.float64)[chosen], np.asarray(rows, np.float64)
    near = KNeighborsClassifier(min(NEIGHBOURS, len(labels)), weights="distance", algorithm="brute")
    with threadpool_limits(1):  # sums of several threads end otherwise in their last bits
        (predict,) = _fits(known, labels, [best_penalty(known, labels, groups)])
        return Read(predict(unread), near.fit(_of_unit_length(known), labels).predict(_of_unit_length(unread)))


def read_in_folds(rows: ArrayLike, labels: np.ndarray, groups: np.ndarray | None = None) -> Read:
    """Read (n, dim) with their (n,) labels fold by fold, each by the others; one label must stand there twice. No fold
    divides one of the (n,) groups, unless there is but one."""
    features, fold = np.asarray(rows), _folds(labels, groups)
    assert fold is not None, "no label stands there twice"
    predicted = Read(np.empty_like(labels), np.empty_like(labels))
    for number in np.unique(fold):
        own = fold == number
        read = read_classes(features[~own], labels[~own], features[own], None if groups is None else groups[~own])
        predicted.regressed[own], predicted.nearest[own] = read.regressed, read.nearest
    return predicted


def best_penalty(features: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None) -> float:
    """The one of `PENALTIES` under which folds read each other best, the strongest of equal ones; the middle one where
    no label stands there twice."""
    few = drawn(len(labels), CHOOSING)
    features, labels = features[few], labels[few]
    fold = _folds(labels, None if groups is None else groups[few])
    if fold is None:
        return PENALTIES[len(PENALTIES) // 2]
    right = np.zeros(len(PENALTIES), dtype=np.int64)
    for number in np.unique(fold):
        own = fold == number
        for place, predict in enumerate(_fits(features[~own], labels[~own], PENALTIES)):
            right[place] += (predict(features[own]) == labels[own]).sum()
    return PENALTIES[int(right.argmax())]


def _folds(labels: np.ndarray, groups: np.ndarray | None) -> np.ndarray | None:  # (rows,)
    """The number of each row's fold; None where no label stands there twice."""
    from sklearn.model_selection import StratifiedGroupKFold

    alone = fold_numbers(labels, FOLDS)
    if alone is None or groups is None or (whole := min(len(np.unique(groups)), int(alone.max()) + 1)) < 2:
        return alone
    numbers = np.empty(len(labels), dtype=np.int64)
    parts = StratifiedGroupKFold(whole, shuffle=True, random_state=SEED).split(labels, labels, groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a label with fewer rows than there are folds
        for number, (_, own) in enumerate(parts):
            numbers[own] = number
    return numbers


def _fits(
    features: np.ndarray, labels: np.ndarray, penalties: Sequence[float]
) -> Iterator[Callable[[np.ndarray], np.ndarray]]:
    """For each penalty what tells the classes of rows; ask it before the next one, which begins where it ended."""
    from sklearn.linear_model import LogisticRegression

    mean, spread = features.mean(axis=0), features.std(axis=0)
    varied = spread > 0  # what is constant tells nothing
    scale = np.where(varied, spread, np.inf) * max(1, int(varied.sum())) ** 0.5
    model = LogisticRegression(max_iter=_ITERATIONS, warm_start=True)
    for penalty in penalties:
        if (labels == labels[0]).all():
            yield lambda rows: np.full(len(rows), labels[0])
        else:
            model.set_params(C=penalty).fit((features - mean) / scale, labels)
            yield lambda rows: model.predict((rows - mean) / scale)


def _of_unit_length(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
