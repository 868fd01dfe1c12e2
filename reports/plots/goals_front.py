"""Recipes over two goals, and the front that no other beats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.plots.canvas import OURS, PUBLISHED, QUIET, legend, make_figure, save


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
    figure, (axis,) = make_figure(1, height=4.6, width=6.4)
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
    legend(figure, [axis])
    return save(figure, path)
