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


def clip(axis: Axes, points: Sequence[tuple[float, float]], way: Literal["x", "y"], label: str = "") -> bool:
    """Bound the axis to what is not far, and mark each point beyond at the edge with its number.

    Points are (x, y) as they are drawn. Returns whether there are any beyond.
    """
    place = "xy".index(way)
    if not points:
        return False
    low, high = limits([point[place] for point in points])
    beyond = [point for point in points if not low <= point[place] <= high]
    if not beyond:
        return False
    room = 0.12 * ((high - low) or abs(high) or 1.0)
    (axis.set_xlim if way == "x" else axis.set_ylim)(low - room, high + room)
    for point in beyond:
        above = point[place] > high
        edge = [*point]
        edge[place] = high + room if above else low - room
        marker = {"x": "<>", "y": "v^"}[way][above]
        axis.plot(*edge, marker, color=QUIET, markersize=7, clip_on=False, zorder=20)
        inward = (-6 if above else 6, 5) if way == "x" else (7, -9 if above else 3)
        axis.annotate(
            f"{point[place]:.1f}", edge, xytext=inward, textcoords="offset points", fontsize=8, color="#555555",
            ha="right" if way == "x" and above else "left", zorder=20,
        )  # fmt: skip
    return True
