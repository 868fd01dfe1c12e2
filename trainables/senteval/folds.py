"""Stratified folds that depend on the labels only: every model has the same folds, and reports compute them again.

They equal those of scikit-learn's `StratifiedKFold(folds, shuffle=True, random_state=1111)`, as a test checks. The
import of scikit-learn would take a second in every trial and report.
"""

from __future__ import annotations

import numpy as np

SEED = 1111
"""Seed of the folds, independent of the classifiers' seed."""


def fold_numbers(labels: np.ndarray, folds: int) -> np.ndarray | None:
    """Return the fold number of each item, (items,). If no class has an item for each fold, there are only as many
    folds as the largest class has items; None for fewer than two folds."""
    _, first, inverse, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    folds = min(folds, int(counts.max()))
    if folds < 2:
        return None
    encoded = np.argsort(np.argsort(first))[inverse]  # classes in the order of their first item
    ordered, random = np.sort(encoded), np.random.RandomState(SEED)
    sizes = [np.bincount(ordered[fold::folds], minlength=len(first)) for fold in range(folds)]
    numbers = np.empty(len(encoded), dtype=np.int64)
    for number, of_class in enumerate(np.transpose(sizes)):
        drawn = np.arange(folds).repeat(of_class)
        random.shuffle(drawn)
        numbers[encoded == number] = drawn
    return numbers
