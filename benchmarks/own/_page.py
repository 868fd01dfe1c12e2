"""Tables in markdown on the records of real data. A look is a cheap score, after part of the data or of the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.own._portfolio import by_chance, left_out, portfolio
from benchmarks.own._recipes import LISTED
from benchmarks.own._table import OwnTable, effects, rank_correlation, seed_deviation, top_regret
from benchmarks.tables import titled
from trainables.recipe import Value

SIZE = 8
"""Number of recipes in a portfolio."""
KEPT, FEWEST = 1 / 3, 5
"""The share of recipes that is kept by their scores at a look; and the fewest recipes of a set in tables of looks."""
SHOWN = (1, 2, 4, 8)
"""Numbers of recipes after which regrets are shown."""


def pages(records: Mapping[str, Mapping[str, OwnTable]]) -> str:
    """Return the page of each record under its name."""
    return "\n\n".join(f"### {name}\n\n{page(tables)}" for name, tables in records.items())


def page(tables: Mapping[str, OwnTable]) -> str:
    """Return all tables of one record. Sets with few recipes are only in the table of scores. Labelled sets, whose
    recipes hardly differ, are not in the tables of looks and settings."""
    telling = {name: table for name, table in tables.items() if len(table.recipes) >= FEWEST}
    differing = {name: table for name, table in telling.items() if table.kind != "labelled"}
    parts = [_sets(tables), _looks(differing), _effects(differing), _portfolios(telling)]
    return "\n\n".join(parts)


def _sets(tables: Mapping[str, OwnTable]) -> str:
    rows = []
    for name, table in tables.items():
        best = int(np.argmax(table.truth))
        chosen = int(np.argmax(table.chosen_by))
        rows.append(
            [
                name,
                table.kind,
                str(len(table.recipes)),
                f"{table.as_it_came[1]:.1f}",
                f"{table.truth[table.base]:.1f}",
                f"{table.truth[best]:.1f}",
                f"{table.truth[chosen]:.1f}",
                "" if np.isnan(seed_deviation(table)) else f"{seed_deviation(table):.2f}",
                f"{rank_correlation(table.chosen_by, table.truth):.2f}",
            ]
        )
    head = ["set", "kind", "recipes", "untrained", "base", "best", "chosen by dev", "seed deviation"]
    return titled("Test scores of recipes on all of the data", [*head, "rank correlation of dev"], rows)


def _looks(tables: Mapping[str, OwnTable]) -> str:
    """Return a table: how well each look ranks recipes by test score, and the regret of keeping the best third."""
    names = [look for look in next(iter(tables.values())).looks if look != "1 of the data"]
    ranks, regrets = [], dict[str, list[float]]()
    for name, table in tables.items():
        ranks.append([name])
        for look in names:
            recorded = ~np.isnan(table.looks[look])
            scores, truths = table.looks[look][recorded], table.truth[recorded]
            few = len(scores) < FEWEST
            ranks[-1].append("" if few else f"{rank_correlation(scores, truths):.2f}")
            regrets.setdefault(look, []).extend([] if few else [top_regret(scores, truths, KEPT) / table.scale])
    lost = [f"{np.mean(each):.2f} ({max(each):.2f})" if each else "" for each in regrets.values()]
    title = "Rank correlation with the test score on all of the data; and the regret of keeping the best third"
    return titled(title, ["set", *names], [*ranks, ["regret, mean (most)", *lost]])


def _effects(tables: Mapping[str, OwnTable]) -> str:
    """Return a table of the effects of settings, by kind of data, as the mean over the sets of a kind."""
    kinds: dict[str, list[dict[tuple[str, Value], list[float]]]] = {}
    for table in tables.values():
        kinds.setdefault(table.kind, []).append(effects(table))
    gains = [own for sets in kinds.values() for own in sets]
    settings = sorted({setting for own in gains for setting in own}, key=str)
    rows = [
        [f"{setting[0]} {setting[1]}", *(_gain(setting, sets) for sets in kinds.values())]
        for setting in settings
        if sum(setting in own for own in gains) > 1
    ]
    title = "Points of test score that a setting adds, the rest of the recipe alike: mean over the sets of a kind"
    return titled(title, ["setting", *kinds], rows)


def _gain(setting: tuple[str, Value], sets: Sequence[Mapping[tuple[str, Value], Sequence[float]]]) -> str:
    each = [np.mean(own[setting]) for own in sets if setting in own]
    return f"{np.mean(each):+.1f}" if each else ""


def _portfolios(tables: Mapping[str, OwnTable]) -> str:
    learned = left_out(tables, SIZE).mean(axis=0)
    drawn = np.mean([by_chance(table, SIZE) for table in tables.values()], axis=0)
    rows = [
        [name, *(f"{lost[after - 1]:.2f}" for after in SHOWN)]
        for name, lost in (("learned from the other sets", learned), ("an order by chance", drawn))
    ]
    title = "Mean regret (1: what the best gains over the base) after so many recipes"
    order = "; ".join(map(_named, portfolio([*tables.values()], SIZE)))
    return f"{titled(title, ['', *map(str, SHOWN)], rows)}\n\nThe portfolio of all sets: {order}."


def _named(number: int) -> str:
    """Return a recipe's number and its changes to the base: `10 learning_rate 0.0005, epochs 3`."""
    changes = ", ".join(f"{key.partition('.')[2]} {value}" for key, value in LISTED[number].items())
    return f"{number} {changes or 'base'}"
