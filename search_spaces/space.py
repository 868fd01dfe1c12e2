"""What a space is: a base recipe, domains for Optuna, the paper's rows with their published numbers, tables, claims.

A space is data. `search_spaces/__init__.py` discovers every `SPACES` tuple in this folder; a person's own
space is one Python file outside the repository with the same tuple.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from trainables.errors import UserError
from trainables.recipe import Recipe


@dataclass(frozen=True)
class Domain:
    """The values that one recipe key may take in a search.

    Either `choices`, or a range `low` to `high` (whole numbers where both are ints; `log` for a log scale).
    `when` makes it conditional: it is asked for only if the other key has one of the values.
    `grid` lists the values that `--search grid` takes from a range.
    """

    key: str
    choices: tuple[Any, ...] = ()
    low: float | int | None = None
    high: float | int | None = None
    log: bool = False
    grid: tuple[Any, ...] = ()
    when: tuple[str, tuple[Any, ...]] | None = None

    def __post_init__(self) -> None:
        if bool(self.choices) == (self.low is not None and self.high is not None):
            raise UserError(f"domain {self.key!r} needs either choices or both low and high")

    @property
    def grid_values(self) -> tuple[Any, ...]:
        return self.choices or self.grid


@dataclass(frozen=True)
class Column:
    """A column of a table: a score of a finished trial, or the plain mean of other columns.

    `score` is a path into a trial's scores, e.g. `("STS12", "spearman_wmean")`.
    `mean_of` names columns of the same table instead; it is None (a dash) where any of them is missing.
    """

    name: str
    score: tuple[str, str] | None = None
    mean_of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """One line of the paper: what it is called, how its recipe differs from the base, what was published.

    `published` maps a table's number to the printed figures, column name to number; a figure the paper
    does not print is left out. `needs` names an input without which the row is a dash.
    """

    label: str
    overrides: Mapping[str, Any]
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    needs: Literal["word_vectors"] | None = None
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the paper: which rows, under which names, with which columns and protocol.

    `rows` pairs the name printed in the table with a row's label.
    `curve` is the recipe key that the table varies, if it is an ablation over one number.
    """

    number: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, str], ...]
    protocol: Literal["full", "fast"]
    aggregation: str
    curve: str | None = None
    footnotes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that its numbers should show: every `better` row beats every `worse` row.

    Rows are labels; `table` and `column` say by which score.
    """

    text: str
    table: str
    column: str
    better: tuple[str, ...]
    worse: tuple[str, ...]


@dataclass(frozen=True)
class Space:
    """Which trials a study may run, and how they are laid out.

    `base` is the paper's recipe; `laptop` are the overrides that make it small enough for two cores without
    a network (built-in corpus and encoder). `baseline` is the label that differences are taken against.
    `tolerance` is how far, in points, a reproduced figure may lie from the published one.
    """

    name: str
    title: str
    paper: str
    base: Recipe
    laptop: Mapping[str, Any]
    rows: tuple[Row, ...] = ()
    domains: tuple[Domain, ...] = ()
    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()
    baseline: str | None = None
    tolerance: float = 1.0
    oddities: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        labels = [row.label for row in self.rows]
        if len(set(labels)) < len(labels):
            raise UserError(f"space {self.name!r} names a row twice: {sorted(labels)}")
        known = set(labels)
        for table in self.tables:
            missing = {label for _, label in table.rows} - known
            if missing:
                raise UserError(f"space {self.name!r}, table {table.number}: no row is called {sorted(missing)}")
        for claim in self.claims:
            missing = {*claim.better, *claim.worse} - known
            if missing:
                raise UserError(f"space {self.name!r}, claim {claim.text!r}: no row is called {sorted(missing)}")
        if self.baseline is not None and self.baseline not in known:
            raise UserError(f"space {self.name!r}: the baseline {self.baseline!r} is not one of its rows")
        for row in self.rows:
            self.base.override(row.overrides)
        self.base.override(self.laptop)
        for domain in self.domains:
            for value in domain.grid_values or (domain.low, domain.high):
                self.base.override({domain.key: value})

    def row(self, label: str) -> Row:
        """The row of that label."""
        return next(row for row in self.rows if row.label == label)
