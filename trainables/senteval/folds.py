"""Stratified folds, by the right answers alone: every model is scored on the same ones, and a report finds them again.

They are those of scikit-learn's `StratifiedKFold(folds, shuffle=True, random_state=1111)`, which a test compares; here
without its import, which takes a second that neither a trial nor a report has to spare.
"""

from __future__ import annotations

import numpy as np

SEED = 1111
"""It never follows the seed of the classifiers."""


def fold_numbers(labels: np.ndarray, folds: int) -> np.ndarray | None:
    """(items,) The number of each item's fold. Where no class has an item for each fold, there are as many as the
    largest has items; None where that has one."""
    _, first, inverse, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    folds = min(folds, int(counts.max()))
    if folds < 2:
        return None
    encoded = np.argsort(np.argsort(first))[inverse]  # classes are numbered as they come
    ordered, random = np.sort(encoded), np.random.RandomState(SEED)
    sizes = [np.bincount(ordered[fold::folds], minlength=len(first)) for fold in range(folds)]
    numbers = np.empty(len(encoded), dtype=np.int64)
    for number, of_class in enumerate(np.transpose(sizes)):
        drawn = np.arange(folds).repeat(of_class)
        random.shuffle(drawn)
        numbers[encoded == number] = drawn
    return numbers
