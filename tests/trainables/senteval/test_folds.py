"""Folds by the right answers alone are those of scikit-learn, by which SentEval's scores were always made."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from trainables.senteval.folds import SEED, fold_numbers


@pytest.mark.parametrize(("items", "classes", "folds"), [(40, 2, 10), (123, 2, 10), (500, 6, 5), (1001, 3, 10)])
def test_they_are_those_of_scikit_learn(items: int, classes: int, folds: int) -> None:
    random = np.random.default_rng(items)
    for _ in range(20):
        labels = np.concatenate([np.arange(classes).repeat(folds), random.integers(0, classes, items)])
        labels = random.permutation(labels) * 3 - 1  # whatever numbers they have
        numbers = fold_numbers(labels.astype(np.int8), folds)
        assert numbers is not None
        theirs = StratifiedKFold(folds, shuffle=True, random_state=SEED).split(np.zeros(len(labels)), labels)
        for fold, (_, tested) in enumerate(theirs):
            assert (numbers == fold).nonzero()[0].tolist() == tested.tolist()


def test_no_class_has_an_item_for_each() -> None:
    assert fold_numbers(np.arange(12), 10) is None
    labels = np.arange(4).repeat(5)
    numbers = fold_numbers(labels, 10)
    assert numbers is not None
    assert [np.bincount(numbers[labels == label]).tolist() for label in range(4)] == [[1] * 5] * 4
