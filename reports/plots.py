"""The report's pictures: rows against the baseline, curves over one number, the course of the search."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports.ledger import write_whole
from reports.results import Results, minus
from search_spaces.space import Column, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS, PUBLISHED, QUIET = "#0b5fa5", "#d1600a", "#8a8a8a"
NAMES = {"objective.weight": "lambda (weight of the contrastive loss)", "objective.temperature": "tau (temperature)"}


def rows_picture(results: Results, path: Path) -> Path | None:
    """Every trained row's difference to the baseline, ours and published, a panel for each topic.

    None where nothing of ours can be drawn. Averaged word vectors lie so far off that they would hide the others.
    """
    panels = [(table, column) for table, column in results.topics if table.curve is None]
    base = results.space.baseline
    if base is None or not results.of_row(base) or not panels:
        return None
    labels = [label for _, label in panels[0][0].rows if label != base and results.space.row(label).needs is None]
    if not any(results.gain(table, label, column.name) is not None for table, column in panels for label in labels):
        return None
    figure, axes = _figure(len(panels), height=1.3 + 0.32 * len(labels), sharey=True)
    for axis, (table, column) in zip(axes, panels, strict=True):
        for place, label in enumerate(labels):
            ours, printed = results.gain(table, label, column.name), results.published_gain(table, label, column.name)
            if ours is not None and printed is not None:
                axis.plot([ours, printed], [place, place], color="#cccccc", linewidth=1.5, zorder=1)
            if printed is not None:
                axis.plot(printed, place, "D", color=PUBLISHED, markersize=6, zorder=2, label=_once(axis, "published"))
            if ours is not None:
                cell = results.cell(table, label, column.name)
                error = cell.std if cell is not None else None
                axis.errorbar(
                    ours,
                    place,
                    xerr=error,
                    fmt="o",
                    color=OURS,
                    markersize=7,
                    capsize=3,
                    zorder=3,
                    label=_once(axis, "ours"),
                )
        axis.axvline(0, color=QUIET, linewidth=1)
        axis.set_title(f"{table.topic} {column.name}")
        axis.set_xlabel(f"points above or below {base}")
        axis.grid(axis="x", alpha=0.3)
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].invert_yaxis()
    _legend(figure, axes)
    return _save(figure, path)


def curve_picture(results: Results, key: str, path: Path) -> Path | None:
    """Averages over one number of the recipe, a panel for each table that varies it.

    Levels where they are comparable with the paper's, else differences to the baseline row; None where nothing
    of ours can be drawn.
    """
    tables = sorted((t for t in results.space.tables if t.curve == key), key=lambda t: (t.topic != "STS", t.number))
    drawn = [(table, *_curves(results, table)) for table in tables]
    if not any(ours for _, ours, _ in drawn):
        return None
    figure, axes = _figure(len(tables), height=3.6)
    for axis, (table, ours, published) in zip(axes, drawn, strict=True):
        if published:
            axis.plot(*zip(*published, strict=True), "D--", color=PUBLISHED, label="published")
        if ours:
            xs, ys, errors = zip(*ours, strict=True)
            axis.errorbar(xs, ys, yerr=[e or 0.0 for e in errors], fmt="o-", color=OURS, capsize=3, label="ours")
        column = _average(table)
        axis.set_title(f"{table.topic} {column.name} (Table {table.number})")
        axis.set_xlabel(NAMES.get(key, key))
        base = results.space.baseline
        if results.comparable:
            axis.set_ylabel("percent")
            _baseline_lines(results, table, column, axis)
        else:
            axis.set_ylabel(f"points above {base}")
            axis.axhline(0, color=QUIET, linewidth=1)
        axis.grid(alpha=0.3)
    _legend(figure, axes)
    return _save(figure, path)


def search_picture(scores: Sequence[tuple[str, float]], paper_best: float | None, path: Path) -> Path:
    """Development score of each explored recipe in the order of exploration, and the best so far."""
    figure, (axis,) = _figure(1, height=3.4)
    values = [value for _, value in scores]
    numbers = range(1, len(values) + 1)
    axis.plot(numbers, values, "o", color=OURS, label="explored recipe")
    axis.step(
        numbers, [max(values[: n + 1]) for n in range(len(values))], where="post", color=OURS, label="best so far"
    )
    if paper_best is not None:
        axis.axhline(paper_best, color=PUBLISHED, linestyle="--", label="best of the paper's rows")
    axis.set_xlabel("explored recipe, in order")
    axis.set_ylabel("development score")
    axis.set_xlim(0.5, max(len(values), 2) + 0.5)
    axis.grid(alpha=0.3)
    _legend(figure, [axis])
    return _save(figure, path)


def _curves(
    results: Results, table: Table
) -> tuple[list[tuple[float, float, float | None]], list[tuple[float, float]]]:
    """Ours as (value, score, std) and published as (value, score), sorted by value."""
    column, base = _average(table).name, results.space.baseline or ""
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


def _average(table: Table) -> Column:
    return next((column for column in table.columns if column.mean_of), table.columns[-1])


def _figure(panels: int, height: float, **options: Any) -> tuple[Figure, list[Axes]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * panels + 1.4, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, panels, squeeze=False, **options)
    return figure, list(axes[0])


def _once(axis: Axes, label: str) -> str | None:
    return None if label in axis.get_legend_handles_labels()[1] else label


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=4, frameon=False)


def _save(figure: Figure, path: Path) -> Path:
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=130, metadata={"Software": None})
    write_whole(path, picture.getvalue())
    return path
