"""Classes predicted from embeddings in two ways: by scikit-learn's logistic regression, fitted to convergence, with a
penalty that folds of the labelled rows choose; and by the nearest neighbours, without a fit.

Features are standardised and then scaled so that a row has length 1 on average, so one list of penalties fits all
encoders. Measured on TREC, SST-2, MR and SUBJ with 120 and 540 labels, MiniLM of 2 and 6 layers, untrained and trained:
standardised features won by up to 4 points over raw ones and 3 over those of unit length (TREC), and lost 2.2 at most
(SST-2, 120 labels, trained). Folds chose within 2 points of the best penalty for the tests, also for trained encoders,
which have seen these rows; 12 rows of a development split may choose no better than chance. Rows of a group, such as
pairs that share a text, are in one fold: if a premise has a hypothesis for each label, two of them reveal the label of
the third. Accuracies of six untrained layers on 1,500 pairs of MultiNLI: 48 % with divided groups, 54 % with whole
ones; by neighbours 25 % and 43 %.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trainables.arrays import sample_rows
from trainables.senteval.folds import SEED, fold_numbers

PENALTIES = (0.4, 1.6, 6.4, 25.6, 102.4)
"""Values of scikit-learn's C for the scaled features; a smaller value is a stronger penalty."""
NEIGHBOUR_COUNT = 10
FOLDS = 5
MAX_FITTED_ROWS, MAX_CHOOSING_ROWS = 10_000, 1_000
"""Largest numbers of labelled rows of a fit, and of the folds that choose the penalty: more rows would cost every trial
too much time for their benefit."""
_ITERATIONS = 5000
"""Largest number of iterations of a fit; usually it takes tens or hundreds."""


@dataclass(frozen=True, eq=False)
class ClassPredictions:
    """The predicted class of each row, (rows,) each."""

    by_regression: np.ndarray
    by_neighbours: np.ndarray
    """The class of most of the nearest neighbours, weighted by nearness."""


def predict_classes(
    fitted: ArrayLike, labels: np.ndarray, rows: ArrayLike, groups: np.ndarray | None = None
) -> ClassPredictions:
    """Predict the classes of `rows`, (rows, dim), by a fit to at most `MAX_FITTED_ROWS` rows of `fitted`, (n, dim),
    with `labels` and `groups`, (n,) each."""
    from sklearn.neighbors import KNeighborsClassifier
    from threadpoolctl import threadpool_limits

    chosen = sample_rows(len(labels), MAX_FITTED_ROWS)
    groups = None if groups is None else groups[chosen]
    labels, known, unread = labels[chosen], np.asarray(fitted, np.float64)[chosen], np.asarray(rows, np.float64)
    near = KNeighborsClassifier(min(NEIGHBOUR_COUNT, len(labels)), weights="distance", algorithm="brute")
    with threadpool_limits(1):  # sums of several threads differ in their last bits
        (predict,) = _fits(known, labels, [best_penalty(known, labels, groups)])
        return ClassPredictions(
            predict(unread), near.fit(_of_unit_length(known), labels).predict(_of_unit_length(unread))
        )


def predict_in_folds(rows: ArrayLike, labels: np.ndarray, groups: np.ndarray | None = None) -> ClassPredictions:
    """Predict the classes of `rows`, (n, dim), fold by fold, each from the other folds; some label must occur twice. No
    fold divides one of the (n,) `groups`, unless there is only one group."""
    features, fold = np.asarray(rows), _folds(labels, groups)
    assert fold is not None, "no label stands there twice"
    predicted = ClassPredictions(np.empty_like(labels), np.empty_like(labels))
    for number in np.unique(fold):
        own = fold == number
        of_fold = predict_classes(features[~own], labels[~own], features[own], None if groups is None else groups[~own])
        predicted.by_regression[own], predicted.by_neighbours[own] = of_fold.by_regression, of_fold.by_neighbours
    return predicted


def best_penalty(features: np.ndarray, labels: np.ndarray, groups: np.ndarray | None = None) -> float:
    """Return the penalty of `PENALTIES` with the best predictions in folds, of equally good ones the strongest; the
    middle one if no label occurs twice."""
    few = sample_rows(len(labels), MAX_CHOOSING_ROWS)
    features, labels = features[few], labels[few]
    fold = _folds(labels, None if groups is None else groups[few])
    if fold is None:
        return PENALTIES[len(PENALTIES) // 2]
    right = np.zeros(len(PENALTIES), dtype=np.int64)
    for number in np.unique(fold):
        own = fold == number
        for index, predict in enumerate(_fits(features[~own], labels[~own], PENALTIES)):
            right[index] += (predict(features[own]) == labels[own]).sum()
    return PENALTIES[int(right.argmax())]


def _folds(labels: np.ndarray, groups: np.ndarray | None) -> np.ndarray | None:  # (rows,)
    """Return the number of each row's fold; None if no label occurs twice."""
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
    """Yield one function per penalty, which predicts the classes of rows. Use each before taking the next: the same
    model is fitted further."""
    from sklearn.linear_model import LogisticRegression

    mean, spread = features.mean(axis=0), features.std(axis=0)
    varied = spread > 0  # constant features become 0
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
