"""A recorded set for replayed searches: a space, the recorded recipes in it, and their scores and costs.

The space is the one that `--train` makes today of such data. Recorded recipes outside it are left out for every search,
such as those with other poolings, other heads or higher rates.

A search that proposes a recipe gets the nearest recorded recipe that it has not tried. The distance of numbers is on
their domain's scale, on which both ends are 1 apart (rates and temperatures by their logarithms, lists of numbers by
position). Different choices are 1 apart, and so are recipes if only one of them has a key. The squares are summed.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.own._recipes import based
from benchmarks.own._table import SHARES, WHOLE, OwnTable
from search_spaces.domain_values import scaled
from search_spaces.own_data import OwnEncoder, OwnSpace, own_base, own_domains
from search_spaces.space import Domain
from study.search.points import point
from trainables.recipe import Recipe, Value
from trainables.senteval.tasks import TASKS

UNITS = {"labelled": 300}
"""Number of training units, as batches count them, by kind of set. Other kinds have 3,000, one per row."""
WIDTH = 384
"""Embedding width of MiniLM."""
PLACES = 2
"""Number of trainings that run at once."""
WHOLE_SECONDS = 180.0
"""Simulated seconds of a whole training with the base settings."""
FEWEST_PAIRS = 5
"""A set with fewer recipes under two seeds takes score changes by seeds from all sets."""


@functools.cache
def space_of(kind: str) -> tuple[Recipe, tuple[Domain, ...]]:
    """Return the base and the domains of a study of such data, as in the space file of `--train`."""
    own = {"encoder.name": "MiniLM", "encoder.query_prompt": None, "encoder.document_prompt": None}
    encoder = OwnEncoder("MiniLM", {**own, "pooling.mode": "mean"}, ("mean",), WIDTH)
    units = UNITS.get(kind, 3000)
    space = OwnSpace("own", "own", "/", "/train", kind, units, 1, 1, (encoder,), (TASKS["MR"],))
    base = {key: value for key, value in own_base(space).items() if key not in ("encoder.name", "corpus.nli")}
    return Recipe().preferring(base), tuple(Domain(key, **fields) for key, fields in own_domains(space))


def in_space(table: OwnTable) -> OwnTable | None:
    """Return the table with only recipes of a study's space that also ran on the smallest part of the data; None if the
    base settings are not among them."""
    parted = [int(index) for index in np.flatnonzero(~np.isnan(table.seconds[:, 0, 0]))]
    recipes = {index: pair[0] for index in parted if (pair := _recipe(table.kind, table.keys[index]))}
    if space_of(table.kind)[0] not in recipes.values():
        return None
    indices = [*recipes]
    arrays = {name: getattr(table, name)[indices] for name in ("dev", "test", "seconds", "steps", "rungs")}
    numbers, keys = tuple(table.recipes[index] for index in indices), tuple(table.keys[index] for index in indices)
    return dataclasses.replace(table, recipes=numbers, keys=keys, **arrays)


def _recipe(kind: str, keys: Mapping[str, Value]) -> tuple[Recipe, Mapping[str, Value]] | None:
    """Return a recorded recipe and its values of the domains; None if it is outside the space."""
    base, domains = space_of(kind)
    recipe = based(base).override(keys)
    chosen = point(recipe, base, domains)
    return None if chosen is None else (recipe, chosen)


@dataclass(frozen=True, eq=False)
class Replayed:
    """A recorded set. In all methods, `index` is the position of a recipe in the set's table."""

    name: str
    space_base: Recipe
    domains: tuple[Domain, ...]
    numbers: tuple[int, ...]
    """The recipes' numbers in the record."""
    recipes: tuple[Recipe, ...]
    points: tuple[Mapping[str, Value], ...]
    """Each recipe's values of the domains."""
    dev: np.ndarray  # (recipes, shares, seeds), percent; NaN if failed or not recorded
    test: np.ndarray  # (recipes, seeds), on all of the data
    rungs: np.ndarray  # (recipes, rungs), development scores
    costs: np.ndarray  # (recipes, shares), in units of WHOLE_SECONDS
    as_it_came: tuple[float, float]
    moves: np.ndarray  # (pairs, 2), changes of development and test score by another seed
    truth: np.ndarray  # (recipes,), as in its table

    @classmethod
    def of(cls, table: OwnTable, others: Sequence[OwnTable] = ()) -> Replayed:
        """Return the set of a table from `in_space`. If few recipes have two seeds, `others` provide changes by
        seeds."""
        base, domains = space_of(table.kind)
        pairs = [pair for keys in table.keys if (pair := _recipe(table.kind, keys)) is not None]
        recipes = tuple(recipe for recipe, _ in pairs)
        moves = _moves([table])
        return cls(
            table.name,
            base,
            domains,
            table.recipes,
            recipes,
            tuple(chosen for _, chosen in pairs),
            _filled(table.dev, ~np.isnan(table.seconds)),
            table.test[:, WHOLE],
            table.rungs[:, :, 0],
            table.costs,
            table.as_it_came,
            moves if len(moves) >= FEWEST_PAIRS else _moves([table, *others]),
            table.truth,
        )

    @functools.cached_property
    def base(self) -> int:
        """The position of the base settings in the table."""
        return self.index_of[self.space_base.hash]

    @functools.cached_property
    def index_of(self) -> Mapping[str, int]:
        """Positions of recipes in the table, by recipe hash."""
        return {recipe.hash: index for index, recipe in enumerate(self.recipes)}

    def explored(self, index: int, share: int, seed: int) -> tuple[float, float] | None:
        """Return the recipe's development score on a share of the data (`share` is its index), and its test score on
        all data; None if the training failed. The first seed is taken where `seed` was not recorded."""
        seed = seed if not np.isnan(self.dev[index, share, seed]) else 0
        dev, test = self.dev[index, share, seed], self.test[index, min(seed, self.test.shape[1] - 1)]
        return None if np.isnan(dev) else (float(dev), float(test))

    def fresh(self, index: int, number: int, explored: int, random: np.random.Generator) -> tuple[float, float] | None:
        """Return the recipe's development and test score under the fresh seed of that number. The first fresh seeds are
        recorded ones other than the explored one. Further ones give the mean recorded score plus a random change by
        seed."""
        scores = np.stack([self.dev[index, WHOLE], self.test[index]], axis=1)
        recorded = [seed for seed in range(len(scores)) if not np.isnan(scores[seed]).any()]
        if 0 not in recorded:
            return None
        others = [seed for seed in recorded if seed != (explored if explored in recorded else 0)]
        move = self.moves[random.integers(len(self.moves))] * random.choice([-1.0, 1.0])
        dev, test = scores[others[number]] if number < len(others) else scores[recorded].mean(axis=0) + move
        return float(dev), float(test)

    def nearest(self, chosen: Mapping[str, Value], tried: Collection[int] = ()) -> int:
        """Return the position of the untried recipe nearest to these values of the domains."""
        apart = np.nansum((self._scaled - self._row(chosen)) ** 2, axis=1)
        keys = [domain.key for domain in self.domains]
        present = np.array([[key in values for key in keys] for values in self.points])
        apart += (present != np.array([key in chosen for key in keys])).sum(axis=1)
        apart[[*tried]] = math.inf
        return int(np.argmin(apart))

    @functools.cached_property
    def _scaled(self) -> np.ndarray:
        return np.stack([self._row(values) for values in self.points])

    def _row(self, chosen: Mapping[str, Value]) -> np.ndarray:  # (columns,), one per number and one per choice
        columns: list[float] = []
        for domain in self.domains:
            value = scaled(domain, chosen.get(domain.key))
            if not domain.choices:
                columns.append(value)
            elif all(isinstance(choice, int | float) for choice in domain.choices):
                columns.append(value / max(1, len(domain.choices) - 1))
            else:
                marks = [math.sqrt(0.5) * (value == number) for number in range(len(domain.choices))]
                columns += [mark if domain.key in chosen else math.nan for mark in marks]
        return np.array(columns)


def _filled(dev: np.ndarray, recorded: np.ndarray) -> np.ndarray:  # (recipes, shares, seeds) twice
    """Return the scores without gaps under the first seed. Interpolate between the next smaller and larger share, by
    its logarithm; without both, take the nearest share's score plus the median difference of other recipes."""
    dev, shares = dev.copy(), np.log2(SHARES)
    first = dev[:, :, 0]
    for index, ran in enumerate(recorded[:, :, 0]):
        scored = ran & ~np.isnan(first[index])
        for share in np.flatnonzero(~ran) if scored.any() else ():
            below, above = np.flatnonzero(scored[:share]), np.flatnonzero(scored[share:]) + share
            if len(below) and len(above):
                ends = [below[-1], above[0]]
                first[index, share] = np.interp(shares[share], shares[ends], first[index, ends])
            else:
                near = above[0] if len(above) else below[-1]
                first[index, share] = first[index, near] + np.nanmedian(first[:, share] - first[:, near])
    return dev


def _moves(tables: Sequence[OwnTable]) -> np.ndarray:  # (recipes with two seeds, 2)
    """Return the changes that a seed makes to scores, from differences of two seeds, which have twice the variance."""
    differences = [np.zeros((0, 2))]
    for table in tables:
        scores = np.stack([table.dev[:, WHOLE], table.test[:, WHOLE]], axis=-1)
        if scores.shape[1] > 1:
            differences.append((scores[:, 0] - scores[:, 1]) / math.sqrt(2))
    moves = np.concatenate(differences)
    return moves[~np.isnan(moves).any(axis=1)]
