"""A forest that is fitted to some recipes and tested on others: how well it predicts, and the share of each key.

The share of a key is cov(score, f(x) - f(x')) / var(score) over held-out recipes, where x' is the recipe with the key's
value taken from another recipe. This is half of the growth of the squared error when the key is shuffled, without the
part that is noise alone. It is linear in the fit, so folds and repetitions are simply averaged.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from reports.importance.coding import Array, Coded

if TYPE_CHECKING:
    from sklearn.tree import ExtraTreeRegressor

FOLDS, REPEATS, TREES, DRAWS = 5, 2, 6, 2
"""Number of folds of a cross-validation; of repetitions with other folds; of trees per fit; of shuffles per fit."""
LEAF = 3
"""Smallest number of recipes in a leaf of a tree."""


@cache
def _tree() -> tuple[type[ExtraTreeRegressor], Callable[..., ExtraTreeRegressor]]:
    """Return the tree class, and a function that fits a tree without sklearn's checks, which outlast a small fit."""
    from sklearn.tree import ExtraTreeRegressor

    tags = ExtraTreeRegressor().__sklearn_tags__()

    class UncheckedTree(ExtraTreeRegressor):
        def __sklearn_tags__(self) -> Any:
            return tags  # each fit reads them four times

    return UncheckedTree, inspect.unwrap(UncheckedTree.fit)


@dataclass(frozen=True, eq=False)
class CrossFold:
    """One fold: indices of the recipes for the fit and of the held-out recipes, and the inputs of predictions."""

    seed: int
    fitted: Array
    held: Array
    inputs: Array
    """(held + draws x keys x held, keys) The held-out recipes, then copies with one key's value from other recipes."""


@dataclass(frozen=True, eq=False)
class OutOfSample:
    """Results on held-out recipes, averaged over repetitions."""

    explained: float
    """R2 of the predictions for held-out recipes."""
    shares: Array  # (keys,)

    @property
    def figures(self) -> Array:
        """(1 + keys,) `explained`, then the shares of the keys."""
        return np.array([self.explained, *self.shares])


class Folds:
    """Folds, shuffles and seeds for these recipes, drawn once: all scores of them are analysed in the same way."""

    def __init__(self, coded: Coded) -> None:
        self.coded, self.chance = coded, np.random.RandomState(0)
        chance = np.random.default_rng(0)
        size = len(coded.values)
        self.parts: list[CrossFold] = []
        for _ in range(REPEATS):
            order = chance.permutation(size)
            for held in np.array_split(order, FOLDS):
                fitted = np.setdiff1d(order, held)
                self.parts.append(CrossFold(len(self.parts), fitted, held, self._inputs(held, chance)))

    def trees(self, part: CrossFold, scores: Array) -> list[ExtraTreeRegressor]:
        """Return trees that are fitted to the `fitted` recipes of a fold."""
        tree, fit = _tree()
        rows, own = self.coded.values[part.fitted], scores[part.fitted]
        trees = []
        for number in range(TREES):
            self.chance.seed(part.seed * TREES + number)  # a new generator takes as long as the fit
            trees.append(fit(tree(min_samples_leaf=LEAF, random_state=self.chance), rows, own, check_input=False))
        return trees

    def predict(self, trees: Sequence[ExtraTreeRegressor], rows: Array) -> Array:
        """Return (n,) the mean prediction of the trees for rows (n, keys)."""
        return np.asarray(sum(tree.tree_.predict(rows)[:, 0] for tree in trees) / len(trees))

    def cross_validate(self, scores: Array) -> OutOfSample:
        """Return the cross-validated results for these scores."""
        size, keys = len(scores), len(self.coded.keys)
        missed, centred, gained = np.zeros(size), np.zeros(size), np.zeros(keys)
        for part in self.parts:
            count, mean = len(part.held), scores[part.fitted].mean()
            predicted = self.predict(self.trees(part, scores), part.inputs)
            plain, others = predicted[:count], predicted[count:].reshape(DRAWS, keys, count)
            own = scores[part.held] - mean
            centred[part.held] += own
            missed[part.held] += scores[part.held] - plain
            gained += (plain - others.mean(axis=0)) @ own
        spread = float(((centred / REPEATS) ** 2).sum()) or 1.0  # scores that are all equal have none
        explained = 1 - float(((missed / REPEATS) ** 2).sum()) / spread
        return OutOfSample(explained, gained / REPEATS / spread)

    def _inputs(self, held: Array, chance: np.random.Generator) -> Array:
        rows = self.coded.values[held]
        donors = [self.coded.donors(chance)[held] for _ in range(DRAWS)]
        keys = range(len(self.coded.keys))
        return np.concatenate([rows, *(self.coded.swapped(rows, key, own) for own in donors for key in keys)])
