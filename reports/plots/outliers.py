"""Outliers: a few far points are drawn at the picture's edge with their numbers, and do not squash the other points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from reports.plots.canvas import QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Ends = tuple[float, float] | None
"""Ends of an axis that leaves out far points; None if it leaves out none."""
MIN_FAR_FACTOR = 4.0
"""Points are far if the picture would be at least this many times narrower without them."""
MAX_FAR_SHARE = 0.2
"""Largest share of the points that may count as far."""
NEAR_RANGES = 0.5
"""A point is not far if its distance from the other points is at most this many times their range."""
MIN_POINTS = 4
"""Smallest number of points: among fewer points, none is far."""
ROWS = 3
"""Number of rows for the numbers of far points at an edge, so that neighbours do not touch."""


def limits(values: Sequence[float]) -> tuple[float, float]:
    """Return the range of the values that are not far from the others. As few values as possible count as far."""
    kept = sorted(values)
    may_go = max(int(MAX_FAR_SHARE * len(kept)), 1) if len(kept) >= MIN_POINTS else 0
    size = 1
    while size <= may_go:
        rest = len(kept) - size
        narrow, start = min((kept[start + rest - 1] - kept[start], start) for start in range(size + 1))
        if 0 < MIN_FAR_FACTOR * narrow <= kept[-1] - kept[0]:
            kept, may_go, size = kept[start : start + rest], may_go - size, 1
        else:
            size += 1
    room = NEAR_RANGES * (kept[-1] - kept[0])
    near = [value for value in values if kept[0] - room <= value <= kept[-1] + room]
    return min(near), max(near)


def clip(
    panels: Sequence[tuple[Axes, Sequence[tuple[float, float]]]],
    ways: Literal["y", "xy"] = "y",
    within: Sequence[float] = (),
) -> None:
    """Bound the axes to the points that are not far; draw each far point at the edge with its numbers.

    `panels` share their axes; each has its points (x, y) as they are drawn. `ways`: axes that may be bounded. `within`:
    y values that the picture must show.
    """
    every = [point for _, points in panels for point in points]
    if not every:
        return
    ends = {way: _ends([point["xy".index(way)] for point in every], within if way == "y" else ()) for way in ways}
    for axis, points in panels:
        for way, end in ends.items():
            if end is not None:
                (axis.set_xlim if way == "x" else axis.set_ylim)(end)
        rows = Counter[bool]()  # number of labels at the lower and the upper edge
        for point in points:
            _mark(axis, point, ends.get("x"), ends.get("y"), rows)


def _ends(values: Sequence[float], within: Sequence[float]) -> Ends:
    """Return the ends of the axis without far values; None if no value is far."""
    kept = [*limits(values), *within]
    low, high = min(kept), max(kept)
    if low <= min(values) and max(values) <= high:
        return None
    room = 0.12 * (high - low)
    return low - room, high + room


def _mark(axis: Axes, point: tuple[float, float], x_ends: Ends, y_ends: Ends, rows: Counter[bool]) -> None:
    x, y = (_within(value, end) for value, end in zip(point, (x_ends, y_ends), strict=True))
    beyond = [(value, own) for value, own in zip(point, (x, y), strict=True) if value != own]
    if not beyond:
        return
    shape = (">" if point[0] > x else "<") if point[0] != x else ("^" if point[1] > y else "v")
    right, above = point[0] > x, point[1] > y
    low, high = axis.get_xlim()
    left = right or x > (low + high) / 2  # else the words would leave the picture
    row, rows[above] = rows[above] % ROWS, rows[above] + 1
    axis.plot([x], [y], shape, color=QUIET, markersize=7, clip_on=False, zorder=20)
    words, beside = ", ".join(f"{value:.1f}" for value, _ in beyond), -9 - 9 * row if above else 3 + 9 * row
    axis.annotate(
        words, (x, y), xytext=(-8 if left else 8, beside),
        textcoords="offset points", fontsize=8, color="#555555", ha="right" if left else "left", zorder=20,
    )  # fmt: skip


def _within(value: float, ends: Ends) -> float:
    return value if ends is None else min(max(value, ends[0]), ends[1])
