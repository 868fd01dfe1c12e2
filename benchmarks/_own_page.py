"""What the records of real data say, as tables in markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks._own_portfolio import by_chance, left_out, portfolio
from benchmarks._own_table import (
    WHOLE,
    OwnTable,
    effects,
    rank_correlation,
    seed_deviation,
    top_regret,
)
from trainables.recipe import Value

BEST, SIZE = 5, 8
"""Recipes that are shown of each set, and of a portfolio."""
SHOWN = (1, 2, 3, 4, 6, 8)
"""After so many recipes regrets are shown."""


def page(tables: Mapping[str, OwnTable]) -> str:
    """All tables."""
    parts = [_sets(tables), _looks(tables), _best(tables), _effects(tables), _portfolios(tables)]
    return "\n\n".join(parts) + "\n"


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return f"**{title}**\n\n" + "\n".join(lines)


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
                f"{np.nansum(table.seconds) / 60:.0f}",
                f"{table.as_it_came[1]:.1f}",
                f"{table.truth[table.base]:.1f}",
                f"{table.truth[best]:.1f}",
                f"{table.truth[chosen]:.1f}",
                f"{seed_deviation(table):.2f}",
                f"{rank_correlation(table.chosen_by, table.truth):.2f}",
            ]
        )
    head = ["set", "kind", "recipes", "minutes", "as it came", "base", "best", "chosen by dev", "seed deviation"]
    return _table("Test scores of recipes on all of the data", [*head, "rank correlation of dev"], rows)


def _looks(tables: Mapping[str, OwnTable]) -> str:
    """Against what recipes are worth: the test score on all of the data."""
    names = [*next(iter(tables.values())).looks]
    rows = []
    for name, table in tables.items():
        cells = []
        for look in names:
            there = _seen(table, look)
            scores, truth = table.looks[look][there], table.truth[there]
            few = there.sum() < 5
            cells.append("" if few else f"{rank_correlation(scores, truth):.2f}, {top_regret(scores, truth):.1f}")
        rows.append([name, *cells])
    means = []
    for look in names:
        seen = [(table.looks[look][_seen(table, look)], table.truth[_seen(table, look)]) for table in tables.values()]
        seen = [(scores, truth) for scores, truth in seen if len(truth) >= 5]
        correlations = [rank_correlation(scores, truth) for scores, truth in seen]
        lost = [top_regret(scores, truth) for scores, truth in seen]
        means.append(f"{np.nanmean(correlations):.2f}, {np.mean(lost):.1f}" if seen else "")
    rows.append(["mean", *means])
    return _table(
        "Rank correlation with the test score, and what the best of the top fifth lacks", ["set", *names], rows
    )


def _seen(table: OwnTable, look: str) -> np.ndarray:
    """Recipes that were looked at so."""
    share = {"0.125": 0, "0.25": 1, "0.5": 2}.get(look.partition(" ")[0], WHOLE)
    return ~np.isnan(table.seconds[:, share if "data" in look else WHOLE, 0])


def _best(tables: Mapping[str, OwnTable]) -> str:
    rows = []
    for name, table in tables.items():
        order = np.argsort(-table.truth, kind="stable")[:BEST]
        rows += [
            [
                name,
                str(table.recipes[place]),
                in_words(table.keys[place]),
                f"{table.chosen_by[place]:.1f}",
                f"{table.truth[place]:.1f}",
                f"{table.costs[place]:.1f}",
            ]
            for place in order
        ]
    return _table("The best recipes", ["set", "number", "recipe", "dev", "test", "time of the base's"], rows)


def in_words(keys: Mapping[str, Value]) -> str:
    """`learning_rate 0.0001, epochs 3`; the base without any."""
    return ", ".join(f"{key.partition('.')[2]} {value}" for key, value in keys.items()) or "base"


def _effects(tables: Mapping[str, OwnTable]) -> str:
    by_set = {name: effects(table) for name, table in tables.items()}
    settings = sorted({one for found in by_set.values() for one in found}, key=str)
    settings = [one for one in settings if sum(one in found for found in by_set.values()) > 1]
    rows = [
        [
            in_words({key: value}),
            *(f"{np.mean(found[key, value]):+.1f}" if (key, value) in found else "" for found in by_set.values()),
        ]
        for key, value in settings
    ]
    return _table("Points of test score that a setting adds, the rest of the recipe alike", ["setting", *tables], rows)


def _portfolios(tables: Mapping[str, OwnTable]) -> str:
    texts, rows = [], []
    for title, by_time in (("by regret", False), ("by regret and time", True)):
        order = portfolio([*tables.values()], SIZE, by_time)
        names = [f"{number} ({_named(number, tables)})" for number in order]
        texts.append(f"Portfolio of all sets {title}: {'; '.join(names)}.")
        lost = left_out(tables, SIZE, by_time).mean(axis=0)
        rows.append([f"learned from the others, {title}", *(f"{lost[after - 1]:.2f}" for after in SHOWN)])
    drawn = np.mean([by_chance(table, SIZE) for table in tables.values()], axis=0)
    rows.append(["an order by chance", *(f"{drawn[after - 1]:.2f}" for after in SHOWN)])
    table = _table(
        "Mean regret (1: what the best gains over the base) after so many recipes", ["", *map(str, SHOWN)], rows
    )
    return "\n\n".join([table, *texts])


def _named(number: int, tables: Mapping[str, OwnTable]) -> str:
    table = next(table for table in tables.values() if number in table.recipes)
    return in_words(table.keys[table.recipes.index(number)])
