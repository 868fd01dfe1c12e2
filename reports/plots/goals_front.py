"""Picture of recipes over two goals, with the front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.plots.canvas import OURS, PUBLISHED, QUIET, finish, make_figure
from reports.plots.outliers import clip


@dataclass(frozen=True)
class Mark:
    """A recipe in the picture of two goals. `number`: the one on the front; None if it is not on the front."""

    x: float
    y: float
    row: bool
    number: int | None
    probability: float | None
    """Probability that the recipe belongs to the front; None if unknown."""
    x_ends: tuple[float, float] | None = None
    """Ends of the 95 % interval, if the interval is to be drawn."""
    y_ends: tuple[float, float] | None = None


KINDS = ((False, "o", OURS, "explored recipe"), (True, "s", PUBLISHED, "row of the space"))
SPREAD = 10.0
"""The axis of a cost is logarithmic if its largest value is at least this many times the smallest."""


def pareto_picture(
    marks: Sequence[Mark], axes: tuple[str, str], path: Path, costs: tuple[bool, bool] = (False, False)
) -> Path:
    """Draw all recipes over two goals; the front is joined by steps and numbered.

    The fuller a mark, the more probably its recipe belongs to the front. `costs`: on which axes lower is better.
    """
    from matplotlib.colors import to_rgba

    figure, (axis,) = make_figure(1, height=4.6, width=5.6)
    on_front = sorted((mark for mark in marks if mark.number), key=lambda mark: mark.x)
    axis.step(
        [m.x for m in on_front], [m.y for m in on_front], where="post" if costs[0] else "pre", color="#444444",
        linewidth=1.4, zorder=1, label="measured front",
    )  # fmt: skip
    barred = [(mark.x, mark.y, mark.x_ends, mark.y_ends) for mark in marks if mark.x_ends and mark.y_ends]
    for x, y, x_ends, y_ends in barred:
        axis.plot(x_ends, (y, y), color=QUIET, linewidth=0.8, zorder=2)
        axis.plot((x, x), y_ends, color=QUIET, linewidth=0.8, zorder=2)
    for row, shape, colour, name in KINDS:
        own = [mark for mark in marks if mark.row == row]
        if not own:
            continue
        fill = [to_rgba(colour, 0.5 if mark.probability is None else mark.probability) for mark in own]
        sizes = [60 if mark.number else 28 for mark in own]
        axis.scatter([m.x for m in own], [m.y for m in own], s=sizes, c=fill, marker=shape, edgecolors=colour, zorder=3)
        axis.plot([], [], shape, color=colour, label=name)
    right = -1 if costs[0] else 1  # numbers go on the side of the front without recipes
    for mark in on_front:
        axis.annotate(
            str(mark.number), (mark.x, mark.y), xytext=(5 * right, 5), textcoords="offset points", fontsize=9,
            zorder=10, ha="right" if costs[0] else "left",
        )  # fmt: skip
    if any(mark.probability is not None for mark in marks):
        axis.plot([], [], "o", markerfacecolor="none", color=QUIET, label="fuller: more probably on the front")
    if barred:
        axis.plot([], [], "-", color=QUIET, linewidth=0.8, label="95 % interval over seeds")
    axis.margins(0.08)
    least, largest = min(mark.x for mark in marks), max(mark.x for mark in marks)
    if costs[0] and least > 0 and largest >= SPREAD * least:
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_formatter("{x:g}")
        clip([(axis, [(m.x, m.y) for m in marks])], "y")
    else:
        clip([(axis, [(m.x, m.y) for m in marks])], "xy")
    return finish(figure, axis, *axes, path)
