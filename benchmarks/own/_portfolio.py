"""Which recipes to try first, learned from sets of records: greedily, each the one that helps most after those before,
for the time that it takes.

    order = portfolio(tables, 8)                # numbers of recipes
    regrets(order, table)                       # on another set after the first, the first two, ...

A regret is what the recipe that the development scores choose lacks of the set's best, in units of what the best
gains over the base.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from benchmarks.own._recipes import LISTED, RATE
from benchmarks.own._table import WHOLE, OwnTable

FIRST, SPREAD, LITERATURE = 4, 10.0, 2e-5
"""The first recipes have learning rates that differ by such a factor, and the literature's among them: what one small
encoder teaches must not hurt others."""


def regrets(order: Sequence[int], table: OwnTable) -> np.ndarray:  # (recipes of the order,)
    """After each recipe. What a set has not is skipped; before the first recipe there is the untrained encoder."""
    best_dev, chosen = table.as_it_came
    lost = []
    for number in order:
        if number in table.recipes:
            place = table.recipes.index(number)
            if table.chosen_by[place] > best_dev:
                best_dev, chosen = table.chosen_by[place], table.truth[place]
        lost.append((table.truth.max() - chosen) / table.scale)
    return np.array(lost)


def portfolio(tables: Sequence[OwnTable], size: int, begin: Mapping[int, float] = MappingProxyType({})) -> list[int]:
    """So many recipes of the list that half of the sets have at least, in the order of trying: each lowers the mean
    regret most after those before it, for the time that a training takes, and of those that lower it alike it is the
    best one by itself. `begin`: what is tried before them, with its learning rates."""
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
    """Each set's regrets after each recipe of the portfolio that the other sets teach."""
    rows = []
    for name, table in tables.items():
        order = portfolio([other for key, other in tables.items() if key != name], size)
        lost = regrets(order, table)
        rows.append(np.pad(lost, (0, size - len(lost)), mode="edge"))
    return np.array(rows)


def by_chance(table: OwnTable, size: int) -> np.ndarray:  # (size,)
    """The mean regrets after each of so many of its recipes in an order by chance."""
    drawn = np.random.default_rng(0)
    orders = [[int(number) for number in drawn.permutation(table.recipes)[:size]] for _ in range(200)]
    lost = np.mean([regrets(order, table) for order in orders], axis=0)
    return np.pad(lost, (0, size - len(lost)), mode="edge")


def _mean_regret(order: Sequence[int], tables: Sequence[OwnTable]) -> float:
    untrained = [(table.truth.max() - table.as_it_came[1]) / table.scale for table in tables]
    return float(np.mean([regrets(order, table)[-1] for table in tables] if order else untrained))


def _cost(number: int, tables: Sequence[OwnTable]) -> float:
    """Of a training on all of the data, the mean over sets."""
    return float(
        np.mean([table.costs[table.recipes.index(number), WHOLE] for table in tables if number in table.recipes])
    )


def _rate(number: int, tables: Sequence[OwnTable]) -> float:
    table = next(table for table in tables if number in table.recipes)
    return float(str(table.keys[table.recipes.index(number)].get(RATE, LITERATURE)))


def _lacking(order: Sequence[int], rates: Mapping[int, float]) -> int:
    """How many more recipes the first ones need for what is asked of their rates."""
    own = [rates[number] for number in order]
    more = 0 if LITERATURE in own else 1
    own += [LITERATURE] * more
    return more + (max(own) / min(own) < SPREAD)
