"""The report's pictures. Those of a single section take plain numbers; `_save` is the only one that writes."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports.ledger import write_whole
from reports.results import Results, minus, topic_name
from search_spaces.space import Column, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy import ndarray

OURS, PUBLISHED, QUIET = "#0b5fa5", "#d1600a", "#8a8a8a"
LINES = (OURS, PUBLISHED, "#2a8a4a", "#8a3fa0", "#b8a000", "#555555")
NAMES = {
    "objective.weight": "lambda (weight of the contrastive loss)",
    "objective.temperature": "tau (temperature)",
    "objective.positives": "positives per anchor",
    "objective.negatives": "negatives per anchor",
    "objective.bank": "size of the memory bank",
    "optimisation.batch_size": "batch size",
    "corpus.share": "share of the documents",
    "objective.mlm": "weight of MLM",
    "head.kind": "projection head",
    "head.dim": "output size of the projection head",
    "spans.anchors": "A (anchors a document)",
    "spans.positives": "P (positives an anchor)",
    "spans.strategy": "sampling strategy",
}
BOXED, CROWDED = 3, 28
"""A box needs so many recipes; longer labels of an axis, in letters together, are turned."""
LETTER = 0.085
"""Width of a letter of an axis's labels, in inches."""
PRINTED_CELLS = 12
"""Heat maps of at most so many sentences have their cosines printed in the cells."""


def rows_picture(results: Results, path: Path) -> Path | None:
    """Every trained row's difference to the baseline, ours and published, a panel for each topic.

    None where nothing of ours can be drawn. Word vectors and the like lie so far off that they would hide the others.
    """
    base = results.space.baseline
    if base is None or not results.of_row(base):
        return None

    def has_gain(table: Table, label: str, column: Column) -> bool:
        gains = (results.gain(table, label, column.name), results.published_gain(table, label, column.name))
        return label != base and gains != (None, None)

    panels = [
        (table, column)
        for table, column in results.topics
        if table.curve is None and any(has_gain(table, label, column) for _, label in table.rows)
    ]
    if not panels:
        return None
    rows = {row.label: row for row in results.space.rows}
    trained = {label for label, row in rows.items() if row.overrides.get("optimisation.epochs") != 0}
    labels = [
        label
        for _, label in panels[0][0].rows
        if label in trained and any(has_gain(table, label, column) for table, column in panels)
    ]
    if not any(results.gain(table, label, column.name) is not None for table, column in panels for label in labels):
        return None
    width = 4.2 * len(panels) + 0.5 + LETTER * max(map(len, labels))
    figure, axes = _figure(len(panels), height=1.5 + 0.32 * len(labels), width=width, sharey=True)
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
        axis.set_title(topic_name(table, column))
        axis.set_xlabel(f"points above or below\n{base}")
        axis.grid(axis="x", alpha=0.3)
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].set_ylim(len(labels) - 0.5, -0.5)  # the first row on top, no marker cut
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
        axis.set_title(f"{topic_name(table, column)} (Table {table.number})")
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
        axis.axhline(paper_best, color=PUBLISHED, linestyle="--", label="best of the space's rows")
    axis.set_xlabel("explored recipe, in order")
    axis.set_ylabel("development score")
    axis.set_xlim(0.5, max(len(values), 2) + 0.5)
    axis.grid(alpha=0.3)
    _legend(figure, [axis])
    return _save(figure, path)


@dataclass(frozen=True)
class Mark:
    """A recipe in the picture of two goals. `place` numbers it on the front; `near`: within noise of the front."""

    x: float
    y: float
    x_error: float | None
    y_error: float | None
    row: bool
    place: int | None
    near: bool


def pareto_picture(marks: Sequence[Mark], axes: tuple[str, str], path: Path) -> Path:
    """All recipes over two goals; the front is joined by steps and numbered, bars are over seeds."""
    figure, (axis,) = _figure(1, height=4.6, width=6.4)
    on_front = sorted((mark for mark in marks if mark.place), key=lambda mark: mark.x)
    axis.step(
        [m.x for m in on_front], [m.y for m in on_front], where="pre", color=QUIET, linewidth=1.2, zorder=1,
        label="front",
    )  # fmt: skip
    for row, shape, colour, name in ((False, "o", OURS, "explored recipe"), (True, "s", PUBLISHED, "row of the space")):
        for kept, size, fill, kind in (
            ([m for m in marks if m.row == row and not m.place and not m.near], 5, 0.35, ""),
            ([m for m in marks if m.row == row and not m.place and m.near], 6, 0.75, ", within noise of the front"),
            ([m for m in marks if m.row == row and m.place], 9, 1.0, ", on the front"),
        ):
            if kept:
                axis.errorbar(
                    [m.x for m in kept], [m.y for m in kept],
                    xerr=[m.x_error or 0.0 for m in kept], yerr=[m.y_error or 0.0 for m in kept],
                    fmt=shape, color=colour, alpha=fill, markersize=size, elinewidth=0.8, label=name + kind,
                    markeredgecolor="black" if size == 9 else colour, zorder=size,
                )  # fmt: skip
    for mark in on_front:
        axis.annotate(
            str(mark.place), (mark.x, mark.y), xytext=(5, 5), textcoords="offset points", fontsize=9, zorder=10
        )
    axis.set_xlabel(axes[0])
    axis.set_ylabel(axes[1])
    axis.margins(0.08)
    axis.grid(alpha=0.3)
    _legend(figure, [axis])
    return _save(figure, path)


def heat_map_picture(panels: Sequence[tuple[str, ndarray]], labels: Sequence[str], path: Path) -> Path:
    """Cosines of sentences, (n, n) a panel, on one colour scale; `labels` begin with a short word for the x axis."""
    size = len(labels)
    side = min(max(0.3 * size, 3.0), 9.0)
    low = min(0.0, *(float(values.min()) for _, values in panels))
    figure, axes = _figure(len(panels), height=side + 1.0, width=(side + 0.5) * len(panels) + 4.0, sharey=True)
    for axis, (title, values) in zip(axes, panels, strict=True):
        image = axis.imshow(values, cmap="viridis", vmin=low, vmax=1.0)
        axis.set_title(title, fontsize=10)
        axis.set_xticks(range(size), [label.split()[0] for label in labels], fontsize=8, rotation=90 * (size > 20))
        if size <= PRINTED_CELLS:
            for row in range(size):
                for column in range(size):
                    value = float(values[row, column])
                    dark = (value - low) / (1 - low) < 0.6
                    axis.text(
                        column, row, f"{value:.2f}".replace("0.", ".", 1), ha="center", va="center", fontsize=6,
                        color="white" if dark else "black",
                    )  # fmt: skip
    axes[0].set_yticks(range(size), labels, fontsize=8)
    figure.colorbar(image, ax=axes, shrink=0.8, label="cosine")
    return _save(figure, path)


def distribution_picture(panels: Mapping[str, Mapping[str, Sequence[float]]], score: str, path: Path) -> Path:
    """For each key a panel, for each of its values a box over the recipes that have it, and the recipes as dots."""
    figure, axes = _figure(len(panels), height=3.8, width=max(5.0, 3.4 * len(panels)), sharey=True)
    for axis, (key, values) in zip(axes, panels.items(), strict=True):
        axis.boxplot(
            [scores if len(scores) >= BOXED else [] for scores in values.values()], widths=0.5, showfliers=False,
            medianprops={"color": PUBLISHED, "linewidth": 1.5},
        )  # fmt: skip
        crowded = sum(map(len, values)) > CROWDED
        turned: dict[str, Any] = {"rotation": 25, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
        axis.set_xticks(range(1, len(values) + 1), list(values), **turned)
        for place, scores in enumerate(values.values(), start=1):
            step = 0.3 / max(len(scores), 1)  # spread in the order of the recipes, so that equal scores show
            xs = [place + step * (index - (len(scores) - 1) / 2) for index in range(len(scores))]
            axis.plot(xs, scores, "o", color=OURS, alpha=0.5, markersize=4)
        axis.set_xlabel(NAMES.get(key, key))
        axis.grid(axis="y", alpha=0.3)
    axes[0].set_ylabel(score)
    return _save(figure, path)


Line = Sequence[tuple[float, float, float | None]]
"""Points of a line: x, score, standard deviation over seeds."""


def lines_picture(panels: Mapping[str, Mapping[str, Line]], key: str, score: str, path: Path) -> Path:
    """A panel for each entry, in it a line for each name over one number of the recipe."""
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    figure, axes = _figure(len(panels), height=3.8, sharey=True)
    for axis, (title, lines) in zip(axes, panels.items(), strict=True):
        for name, points in lines.items():
            xs, ys, errors = zip(*points, strict=True)
            number = names.index(name)
            axis.errorbar(
                xs, ys, yerr=[error or 0.0 for error in errors], fmt="os^Dvx"[number % 6] + "-", capsize=3,
                color=LINES[number % len(LINES)], label=name,
            )  # fmt: skip
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(NAMES.get(key, key))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(score)
    _legend(figure, axes)
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


def _figure(panels: int, height: float, width: float | None = None, **options: Any) -> tuple[Figure, list[Axes]]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width or 4.6 * panels + 1.4, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, panels, squeeze=False, **options)
    return figure, list(axes[0])


def _once(axis: Axes, label: str) -> str | None:
    return None if label in axis.get_legend_handles_labels()[1] else label


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """Below the panels, in as many columns as the names leave room for."""
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    letters = 11 * float(figure.get_figwidth())
    columns = int(letters // (max(map(len, found), default=0) + 7))
    figure.legend(
        found.values(), found.keys(), loc="outside lower center", ncols=min(max(columns, 1), 4), frameon=False
    )


def _save(figure: Figure, path: Path) -> Path:
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=130, metadata={"Software": None})
    write_whole(path, picture.getvalue())
    return path
