"""Which recipes to try first, learned from sets of records. The choice is greedy: each next recipe is the one that
helps most per training time, after the recipes before it.

    order = portfolio(tables, 8)                # numbers of recipes
    regrets(order, table)                       # on another set after the first, the first two, ...

A regret is the test score of the set's best recipe minus that of the recipe with the best development score, in units
of the best recipe's gain over the base.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from benchmarks.own._recipes import LISTED, RATE
from benchmarks.own._table import WHOLE, OwnTable

FIRST, SPREAD, LITERATURE = 4, 10.0, 2e-5
"""The learning rates of the first `FIRST` recipes span the factor `SPREAD` and include the literature's rate, so that
what is best for one small encoder does not hurt others."""


def regrets(order: Sequence[int], table: OwnTable) -> np.ndarray:  # (recipes of the order,)
    """Return the regret after each recipe of `order`, if they are tried after the original encoder. Recipes that the
    set lacks are skipped."""
    best_dev, chosen = table.as_it_came
    lost = []
    for number in order:
        if number in table.recipes:
            index = table.recipes.index(number)
            if table.chosen_by[index] > best_dev:
                best_dev, chosen = table.chosen_by[index], table.truth[index]
        lost.append((table.truth.max() - chosen) / table.scale)
    return np.array(lost)


def portfolio(tables: Sequence[OwnTable], size: int, begin: Mapping[int, float] = MappingProxyType({})) -> list[int]:
    """Return the best order of at most `size` recipes that at least half of the sets have. Each recipe lowers the mean
    regret most per training time, after the recipes before it. Of equal ones, the recipe that is best alone comes
    first. `begin`: recipes tried before all of these, with their learning rates."""
    counts = Counter(number for table in tables for number in table.recipes)
    often = len(tables) - len(tables) // 2
    candidates = [number for number, count in sorted(counts.items()) if count >= often and number < len(LISTED)]
    rates = {number: _rate(number, tables) for number in candidates} | {**begin}
    alone = {number: _mean_regret([number], tables) for number in candidates}
    costs = {number: _cost(number, tables) for number in candidates}
    order = [*begin]
    lost = _mean_regret(order, tables)
    while len(order) < min(size, len(candidates)):
        room = FIRST - len(order) - 1
        others = [number for number in candidates if number not in order]
        able = [number for number in others if room < 0 or _lacking([*order, number], rates) <= room]
        after = {number: _mean_regret([*order, number], tables) for number in able or others}
        order.append(min(after, key=lambda number: ((after[number] - lost) / costs[number], alone[number])))
        lost = after[order[-1]]
    return order


def left_out(tables: Mapping[str, OwnTable], size: int) -> np.ndarray:  # (sets, size)
    """Return, for each set, its regret after each recipe of the portfolio that is learned from the other sets."""
    rows = []
    for name, table in tables.items():
        order = portfolio([other for key, other in tables.items() if key != name], size)
        lost = regrets(order, table)
        rows.append(np.pad(lost, (0, size - len(lost)), mode="edge"))
    return np.array(rows)


def by_chance(table: OwnTable, size: int) -> np.ndarray:  # (size,)
    """Return the regrets after each recipe if the order is random: the mean over many orders of the set's recipes."""
    drawn = np.random.default_rng(0)
    orders = [[int(number) for number in drawn.permutation(table.recipes)[:size]] for _ in range(200)]
    lost = np.mean([regrets(order, table) for order in orders], axis=0)
    return np.pad(lost, (0, size - len(lost)), mode="edge")


def _mean_regret(order: Sequence[int], tables: Sequence[OwnTable]) -> float:
    untrained = [(table.truth.max() - table.as_it_came[1]) / table.scale for table in tables]
    return float(np.mean([regrets(order, table)[-1] for table in tables] if order else untrained))


def _cost(number: int, tables: Sequence[OwnTable]) -> float:
    """Return the mean over sets of the recipe's training time on all of the data."""
    return float(
        np.mean([table.costs[table.recipes.index(number), WHOLE] for table in tables if number in table.recipes])
    )


def _rate(number: int, tables: Sequence[OwnTable]) -> float:
    table = next(table for table in tables if number in table.recipes)
    return float(str(table.keys[table.recipes.index(number)].get(RATE, LITERATURE)))


def _lacking(order: Sequence[int], rates: Mapping[int, float]) -> int:
    """Return how many more recipes are needed to include the literature's rate and to span the factor `SPREAD`."""
    own = [rates[number] for number in order]
    more = 0 if LITERATURE in own else 1
    own += [LITERATURE] * more
    return more + (max(own) / min(own) < SPREAD)
