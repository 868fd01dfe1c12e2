"""Every row's difference to the baseline, ours and published."""

from __future__ import annotations

from pathlib import Path

from reports.plots.canvas import LETTER, OURS, PUBLISHED, QUIET, legend, make_figure, once, save
from reports.results import Results, topic_name
from search_spaces.space import Column, Table


def rows_picture(results: Results, path: Path) -> Path | None:
    """Every trained row's difference to the baseline, ours and published, a panel for each topic.

    None where nothing of ours can be drawn. Rows that are not trained, such as word vectors, are left out: they lie so
    far off that the others could not be told apart.
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
    figure, axes = make_figure(len(panels), height=1.5 + 0.32 * len(labels), width=width, sharey=True)
    for axis, (table, column) in zip(axes, panels, strict=True):
        for place, label in enumerate(labels):
            ours, printed = results.gain(table, label, column.name), results.published_gain(table, label, column.name)
            if ours is not None and printed is not None:
                axis.plot([ours, printed], [place, place], color="#cccccc", linewidth=1.5, zorder=1)
            if printed is not None:
                axis.plot(printed, place, "D", color=PUBLISHED, markersize=6, zorder=2, label=once(axis, "published"))
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
                    label=once(axis, "ours"),
                )
        axis.axvline(0, color=QUIET, linewidth=1)
        axis.set_title(topic_name(table, column))
        axis.set_xlabel(f"points above or below\n{base}")
        axis.grid(axis="x", alpha=0.3)
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].set_ylim(len(labels) - 0.5, -0.5)  # the first row on top, no marker cut
    legend(figure, axes)
    return save(figure, path)
