"""Recipes as a matrix of numbers, and recipes in which a key takes another recipe's value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from search_spaces.space import Domain
from trainables.recipe import Value

Array = np.ndarray

NOT_APPLICABLE = -1.0
"""The code of a conditional key in recipes to which it does not apply; all other values are coded from 0 to 1."""


@dataclass(frozen=True, eq=False)
class Coded:
    """The recipes as numbers, for the keys of which several values were tried. `values`: (recipes, keys)."""

    domains: tuple[Domain, ...]
    values: Array

    @classmethod
    def of(cls, domains: Sequence[Domain], recipes: Sequence[Mapping[str, Value]]) -> Coded:
        """Code the recipes. A key with only one tried value is left out, also if that key is conditional."""
        columns = {
            domain.key: [
                code(domain, recipe[domain.key]) if domain.is_asked(recipe) else NOT_APPLICABLE for recipe in recipes
            ]
            for domain in domains
        }
        varied = [domain for domain in domains if len({*columns[domain.key]} - {NOT_APPLICABLE}) > 1]
        values = np.array([columns[domain.key] for domain in varied], dtype=np.float32)
        return cls(tuple(varied), values.reshape(len(varied), len(recipes)).T.copy())

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The key of each column."""
        return tuple(domain.key for domain in self.domains)

    @cached_property
    def children(self) -> dict[int, list[tuple[int, Array]]]:
        """By a key's column, the columns of keys that depend on it, each with the codes under which it applies."""
        children_of: dict[int, list[tuple[int, Array]]] = {}
        for child, domain in enumerate(self.domains):
            in_use = self.values[:, child] != NOT_APPLICABLE
            for parent, other in enumerate(self.domains):
                if domain.when is not None and other.key == domain.when[0]:
                    codes = np.array([code(other, value) for value in domain.when[1]], dtype=np.float32)
                elif other.choices and other.key in domain.decided_by - {domain.key} and not in_use.all():
                    codes = np.unique(self.values[in_use, parent])  # those seen in these recipes
                else:
                    continue
                children_of.setdefault(parent, []).append((child, codes))
        return children_of

    def donors(self, chance: np.random.Generator) -> Array:
        """(recipes, keys) For each recipe and key, the value of a random recipe to which the key applies."""
        columns = []
        for column in self.values.T:
            values = column[column != NOT_APPLICABLE]
            if not len(values):  # a subset may have no recipe to which the key applies
                columns.append(column)
                continue
            donors = chance.choice(values, size=len(column))
            donors[column != NOT_APPLICABLE] = chance.permutation(values)
            columns.append(donors)
        return np.stack(columns, axis=1)

    def swapped(self, rows: Array, column: int, donors: Array) -> Array:
        """Return the rows (n, keys) with the column's values taken from `donors` (n, keys).

        A row to which the key does not apply stays unchanged. Keys that depend on it follow: they no longer apply, or
        take the donor's value if they apply only now.
        """
        changed = rows.copy()
        changed[:, column] = np.where(rows[:, column] == NOT_APPLICABLE, NOT_APPLICABLE, donors[:, column])
        self._follow(changed, column, donors)
        return changed

    def _follow(self, rows: Array, parent: int, donors: Array) -> None:
        for child, codes in self.children.get(parent, []):
            own = np.where(rows[:, child] == NOT_APPLICABLE, donors[:, child], rows[:, child])
            in_use = (rows[:, [parent]] == codes).any(axis=1)
            rows[:, child] = np.where(in_use, own, NOT_APPLICABLE)
            self._follow(rows, child, donors)


def code(domain: Domain, value: Value) -> float:
    """Return a value's code: choices from 0 to 1 in the domain's order, numbers by their (log) scale, if outside the
    range also below 0 or above 1."""
    if domain.choices:
        return float(np.float32(domain.choices.index(value) / max(len(domain.choices) - 1, 1)))
    assert domain.low is not None
    assert domain.high is not None
    assert isinstance(value, int | float)
    low, high, own = (float(np.log(x)) if domain.log else float(x) for x in (domain.low, domain.high, value))
    return float(np.float32((own - low) / (high - low)))
