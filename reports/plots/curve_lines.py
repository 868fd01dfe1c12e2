"""Plots of averages over one numeric key of the recipe, ours and published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reports.facts.evidence import Evidence
from reports.facts.quantity import quantity
from reports.facts.results import Results, average_column, topic_name
from reports.plots.canvas import OURS, PUBLISHED, QUIET, Dot, draw_bars, ends_of, legend, make_figure, save
from reports.plots.outliers import clip
from search_spaces.space import Column, Table
from trainables.recipe import keys

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def curve_picture(results: Results, key: str, path: Path) -> bool | None:
    """Draw averages over one numeric key, a panel for each table that varies it. Return whether there are error bars.

    Averages are drawn as they are if they are comparable with the paper's, with bars of the standard deviation over
    seeds; otherwise as gains over the baseline row, with 95 % intervals. Return None if there is nothing of ours to
    draw.
    """
    tables = sorted((t for t in results.space.tables if t.curve == key), key=lambda t: (t.topic != "STS", t.number))
    drawn = [(table, _ours(results, table), _published(results, table)) for table in tables]
    if not any(ours for _, ours, _ in drawn):
        return None
    figure, axes = make_figure(len(tables), height=3.6)
    for axis, (table, ours, published) in zip(axes, drawn, strict=True):
        if published:
            axis.plot(*zip(*published, strict=True), "D--", color=PUBLISHED, label="published")
        if ours:
            axis.plot([point.x for point in ours], [point.y for point in ours], "o-", color=OURS, label="ours")
        draw_bars(axis, ours, OURS)
        column = average_column(table)
        axis.set_title(f"{topic_name(table, column)} (Table {table.number})")
        axis.set_xlabel(keys()[key].label)
        if results.comparable:
            axis.set_ylabel("percent")
            _baseline_lines(results, table, column, axis)
        else:
            axis.set_ylabel(f"points above {results.space.baseline}")
            axis.axhline(0, color=QUIET, linewidth=1)
        clip([(axis, [*((point.x, point.y) for point in ours), *published])])
        axis.grid(alpha=0.3)
    legend(figure, axes)
    save(figure, path)
    return any(point.ends for _, ours, _ in drawn for point in ours)


def _ours(results: Results, table: Table) -> list[Dot]:
    """Our averages or gains as dots, sorted by the key's value."""
    column, evidence = average_column(table), Evidence.of(results)
    base = results.baseline_hash
    points = []
    for _, label in table.rows:
        x = float(results.recipe(label)[table.curve or ""])
        cell, own = results.cell(table, label, column.name), results.info.row_hashes.get(label)
        if cell is None or own is None:
            continue
        if results.comparable:
            ends = None if cell.std is None else (cell.mean - cell.std, cell.mean + cell.std)
            points.append(Dot(x, cell.mean, ends))
        elif base and (gain := evidence.compare(own, base, quantity(table, column))) is not None:
            points.append(Dot(x, gain.gain, ends_of(gain) if own != base else None))
    return sorted(points, key=lambda point: point.x)


def _published(results: Results, table: Table) -> list[tuple[float, float]]:
    """The paper's averages, or its gains, as (value of the key, score), sorted."""
    printed = results.published if results.comparable else results.published_gain
    column = average_column(table).name
    points = [
        (float(results.recipe(label)[table.curve or ""]), figure)
        for _, label in table.rows
        if (figure := printed(table, label, column)) is not None
    ]
    return sorted(points)


def _baseline_lines(results: Results, table: Table, column: Column, axis: Axes) -> None:
    base = results.space.baseline
    if base is None:
        return
    cell, printed = results.cell(table, base, column.name), results.published(table, base, column.name)
    if cell is not None:
        axis.axhline(cell.mean, color=OURS, linewidth=1, alpha=0.6, label=f"{base}, ours")
    if printed is not None:
        axis.axhline(printed, color=PUBLISHED, linewidth=1, linestyle="--", alpha=0.6, label=f"{base}, published")
