"""A few points far from all others: they stand at the picture's edge with their figure, and do not squash the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from reports.plots.canvas import QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAR = 4.0
"""Points are far where without them the picture would be this many times as narrow."""
FEW = 0.2
"""At most this part of the points is far."""
FEWEST = 4
"""Of fewer points none is far."""


def limits(values: Sequence[float]) -> tuple[float, float]:
    """The range of the values that are not far from the others."""
    kept = sorted(values)
    may_go = int(FEW * len(kept)) or len(kept) >= FEWEST
    for size in range(int(may_go), 0, -1):
        spans = [(kept[start + len(kept) - size - 1] - kept[start], start) for start in range(size + 1)]
        narrow, start = min(spans)
        if 0 < FAR * narrow <= kept[-1] - kept[0]:
            return kept[start], kept[start + len(kept) - size - 1]
    return kept[0], kept[-1]


def clip(panels: Sequence[tuple[Axes, Sequence[tuple[float, float]]]], way: Literal["x", "y"]) -> None:
    """Bound the axis to what is not far, and mark each point beyond at the edge with its number.

    `panels` share the axis; each has its points (x, y) as they are drawn.
    """
    place = "xy".index(way)
    values = [point[place] for _, points in panels for point in points]
    if not values:
        return
    low, high = limits(values)
    if low <= min(values) and max(values) <= high:
        return
    room = 0.12 * ((high - low) or abs(high) or 1.0)
    for axis, points in panels:
        (axis.set_xlim if way == "x" else axis.set_ylim)(low - room, high + room)
        for point in points:
            if not low <= point[place] <= high:
                _mark(axis, point, place, low - room if point[place] < low else high + room)


def _mark(axis: Axes, point: tuple[float, float], place: int, end: float) -> None:
    above = point[place] > end
    edge = (end, point[1]) if place == 0 else (point[0], end)
    axis.plot(*edge, ("<>", "v^")[place][above], color=QUIET, markersize=7, clip_on=False, zorder=20)
    inward = (-6 if above else 6, 5) if place == 0 else (7, -9 if above else 3)
    axis.annotate(
        f"{point[place]:.1f}", edge, xytext=inward, textcoords="offset points", fontsize=8, color="#555555",
        ha="right" if place == 0 and above else "left", zorder=20,
    )  # fmt: skip
