"""What the records of real data say, as tables in markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks._own_portfolio import by_chance, left_out, portfolio
from benchmarks._own_recipes import LISTED
from benchmarks._own_table import (
    OwnTable,
    effects,
    rank_correlation,
    seed_deviation,
    top_regret,
)
from trainables.recipe import Value

BEST, SIZE = 3, 8
"""Recipes of a set that are in bold, and of a portfolio."""
KEPT, FEWEST = (1 / 2, 1 / 3, 1 / 5, 1 / 10), 5
"""Shares of the recipes that go on after a look; and recipes without which a set says nothing of looks."""
SHOWN = (1, 2, 3, 4, 6, 8)
"""After so many recipes regrets are shown."""


def pages(records: Mapping[str, Mapping[str, OwnTable]]) -> str:
    """Each record under its name."""
    return "\n\n".join(f"### {name}\n\n{page(tables)}" for name, tables in records.items())


def page(tables: Mapping[str, OwnTable]) -> str:
    """All tables; sets with few recipes stand in those of scores alone."""
    telling = {name: table for name, table in tables.items() if len(table.recipes) >= FEWEST}
    parts = [_sets(tables), _looks(telling), _scores(tables), _effects(telling), _portfolios(telling)]
    return "\n\n".join(parts)


def markdown(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
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
    return markdown("Test scores of recipes on all of the data", [*head, "rank correlation of dev"], rows)


def _looks(tables: Mapping[str, OwnTable]) -> str:
    """How well each ranks recipes by their worth, and what is lost where it keeps the best."""
    names = [*next(iter(tables.values())).looks]
    found = {name: {look: _seen(table, look) for look in names} for name, table in tables.items()}
    ranks = [
        [name, *(f"{rank_correlation(*one):.2f}" if len(one[0]) >= FEWEST else "" for one in looks.values())]
        for name, looks in found.items()
    ]
    lost = []
    for share in KEPT:
        cells = []
        for look in names:
            each = [
                top_regret(*looks[look], share) / tables[name].scale
                for name, looks in found.items()
                if len(looks[look][0]) >= FEWEST
            ]
            cells.append(f"{np.mean(each):.2f} ({max(each):.2f})" if each else "")
        lost.append([f"{share:.0%}", *cells])
    return "\n\n".join(
        [
            markdown("Rank correlation with the test score on all of the data", ["set", *names], ranks),
            markdown("Regret of keeping the best of each, mean over sets (and most)", ["kept", *names], lost),
        ]
    )


def _seen(table: OwnTable, look: str) -> tuple[np.ndarray, np.ndarray]:
    """Scores and truths of the recipes that were looked at so."""
    scores = table.looks[look]
    there = ~np.isnan(scores)
    return scores[there], table.truth[there]


def _scores(tables: Mapping[str, OwnTable]) -> str:
    """Every recipe of the list on every set, the best of each set in bold."""
    numbers = sorted({number for table in tables.values() for number in table.recipes if number < len(LISTED)})
    rows = [[_named(number), *(_score(number, table) for table in tables.values())] for number in numbers]
    title = f"Test scores on all of the data, the best {BEST} of a set in bold"
    return markdown(title, ["recipe", *tables], rows)


def _score(number: int, table: OwnTable) -> str:
    if number not in table.recipes:
        return ""
    place = table.recipes.index(number)
    better = int((table.truth > table.truth[place]).sum())
    return f"**{table.truth[place]:.1f}**" if better < BEST else f"{table.truth[place]:.1f}"


def _named(number: int) -> str:
    """A recipe by its number, and what it changes of a base."""
    return f"{number} {in_words(LISTED[number])}"


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
    return markdown(
        "Points of test score that a setting adds, the rest of the recipe alike", ["setting", *tables], rows
    )


def _portfolios(tables: Mapping[str, OwnTable]) -> str:
    learned = left_out(tables, SIZE).mean(axis=0)
    drawn = np.mean([by_chance(table, SIZE) for table in tables.values()], axis=0)
    rows = [
        [name, *(f"{lost[after - 1]:.2f}" for after in SHOWN)]
        for name, lost in (("learned from the other sets", learned), ("an order by chance", drawn))
    ]
    title = "Mean regret (1: what the best gains over the base) after so many recipes"
    order = "; ".join(map(_named, portfolio([*tables.values()], SIZE)))
    return f"{markdown(title, ['', *map(str, SHOWN)], rows)}\n\nThe portfolio of all sets: {order}."
