"""Averages over one number of the recipe, ours and published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reports.plots.canvas import OURS, PUBLISHED, QUIET, legend, make_figure, save
from reports.results import Results, average_column, minus, topic_name
from search_spaces.space import Column, Table
from trainables.recipe import keys

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def curve_picture(results: Results, key: str, path: Path) -> Path | None:
    """Averages over one number of the recipe, a panel for each table that varies it.

    Levels where they are comparable with the paper's, else differences to the baseline row; None where nothing
    of ours can be drawn.
    """
    tables = sorted((t for t in results.space.tables if t.curve == key), key=lambda t: (t.topic != "STS", t.number))
    drawn = [(table, *_points(results, table)) for table in tables]
    if not any(ours for _, ours, _ in drawn):
        return None
    figure, axes = make_figure(len(tables), height=3.6)
    for axis, (table, ours, published) in zip(axes, drawn, strict=True):
        if published:
            axis.plot(*zip(*published, strict=True), "D--", color=PUBLISHED, label="published")
        if ours:
            xs, ys, errors = zip(*ours, strict=True)
            axis.errorbar(xs, ys, yerr=[e or 0.0 for e in errors], fmt="o-", color=OURS, capsize=3, label="ours")
        column = average_column(table)
        axis.set_title(f"{topic_name(table, column)} (Table {table.number})")
        axis.set_xlabel(keys()[key].label)
        base = results.space.baseline
        if results.comparable:
            axis.set_ylabel("percent")
            _baseline_lines(results, table, column, axis)
        else:
            axis.set_ylabel(f"points above {base}")
            axis.axhline(0, color=QUIET, linewidth=1)
        axis.grid(alpha=0.3)
    legend(figure, axes)
    return save(figure, path)


def _points(
    results: Results, table: Table
) -> tuple[list[tuple[float, float, float | None]], list[tuple[float, float]]]:
    """Ours as (value, score, std) and published as (value, score), sorted by value."""
    column, base = average_column(table).name, results.space.baseline or ""
    ours: list[tuple[float, float, float | None]] = []
    published: list[tuple[float, float]] = []
    for _, label in table.rows:
        x = float(results.recipe(label)[table.curve or ""])
        cell = results.cell(table, label, column)
        if results.comparable:
            y, printed = (None if cell is None else cell.mean), results.published(table, label, column)
        else:
            reference = results.cell(table, base, column) if base else None
            y, printed = minus(cell, reference), results.published_gain(table, label, column)
        if y is not None and cell is not None:
            ours.append((x, y, cell.std))
        if printed is not None:
            published.append((x, printed))
    return sorted(ours, key=lambda point: point[0]), sorted(published)


def _baseline_lines(results: Results, table: Table, column: Column, axis: Axes) -> None:
    base = results.space.baseline
    if base is None:
        return
    cell, printed = results.cell(table, base, column.name), results.published(table, base, column.name)
    if cell is not None:
        axis.axhline(cell.mean, color=OURS, linewidth=1, alpha=0.6, label=f"{base}, ours")
    if printed is not None:
        axis.axhline(printed, color=PUBLISHED, linewidth=1, linestyle="--", alpha=0.6, label=f"{base}, published")
