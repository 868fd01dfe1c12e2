"""Reads the papers' published numbers, which are in one `figures.csv` in each paper's folder.

    table,row,column,value,source
    2,SBERT baseline,STS12,66.06,"Table 2, section 4.4"

`row` and `column` are the names that the space's table prints, `value` is spelt as in the paper, and `source` says
where in the paper it is.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

from search_spaces.names import check_name
from trainables.errors import UserError

Figures = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Published numbers by table, printed row name and column."""
_HEAD = ["table", "row", "column", "value", "source"]


def read_figures(path: Path) -> Figures:
    """Return all published numbers of the file; `UserError` for a line that has no number, or repeats a cell."""
    figures: dict[str, dict[str, dict[str, float]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        if next(lines, None) != _HEAD:
            raise UserError(f"{path}: the first line must be {','.join(_HEAD)}")
        for cells in lines:
            where = f"{path}, line {lines.line_num}"
            if len(cells) != len(_HEAD) or not all(cells):
                raise UserError(f"{where}: needs {', '.join(_HEAD[:-1])} and source, none of them empty")
            table, row, column, value, _ = cells
            columns = figures.setdefault(table, {}).setdefault(row, {})
            if column in columns:
                raise UserError(f"{where}: table {table} has a second figure for {row!r}, {column!r}")
            try:
                columns[column] = float(value)
            except ValueError:
                raise UserError(f"{where}: {value!r} is not a number") from None
    return figures


def same(labels: Iterable[str]) -> dict[str, str]:
    """Return the labels as a map to themselves, for tables that print rows under their labels."""
    return {label: label for label in labels}


def by_label(figures: Figures, tables: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, Mapping[str, float]]]:
    """Return the values of `Row.published`, by the row's label.

    `tables` maps a table's number to printed row names and labels; `UserError` for a row name that `figures` lacks.
    """
    published: dict[str, dict[str, Mapping[str, float]]] = {}
    for number, rows in tables.items():
        for printed, label in rows.items():
            check_name(f"table {number}", "printed row", printed, figures[number])
            published.setdefault(label, {})[number] = figures[number][printed]
    return published
