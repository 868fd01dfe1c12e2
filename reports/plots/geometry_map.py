"""Alignment against uniformity, a dot for each recipe, coloured by a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reports.plots.canvas import PUBLISHED, QUIET, legend, make_figure, once, save
from reports.plots.outliers import clip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST = 1.0
"""The colours of a panel span at least so many points, so that noise looks like one colour."""
OFFSETS = ((9, 8), (-9, 8), (9, -8), (-9, -8), (13, 0), (-13, 0))
"""Where a dot's number may stand, in points (1/72 inch) from its middle."""
KINDS = (("o", "trained row"), ("s", "row as it was loaded, not trained"), ("^", "explored recipe"))


@dataclass(frozen=True)
class Place:
    """A recipe as the picture shows it."""

    name: str
    """Of a row; empty for an explored recipe, whose dot has no number."""
    alignment: float
    uniformity: float
    scores: tuple[float | None, ...]
    """By panel."""
    trained: bool
    is_baseline: bool

    @property
    def kind(self) -> tuple[str, str]:
        """Its mark, and what the legend calls it."""
        return KINDS[2] if not self.name else KINDS[0] if self.trained else KINDS[1]


def geometry_picture(places: Sequence[Place], names: Sequence[str], spans: Sequence[float], path: Path) -> Path:
    """A panel for each score. Lower is better on both axes: similar sentences close, all sentences spread evenly.

    `spans`: the fewest points that each panel's colours span. Rows have numbers, which the legend explains.
    """
    rows = [place for place in places if place.name]
    figure, axes = make_figure(len(names), height=4.6 + 0.07 * len(rows), sharex=True, sharey=True)
    for panel, (axis, name, span) in enumerate(zip(axes, names, spans, strict=True)):
        scored = [place for place in places if place.scores[panel] is not None]
        low, high = _ends([place.scores[panel] or 0.0 for place in scored], max(span, LEAST))
        drawn = None
        for place in sorted(scored, key=lambda place: bool(place.name)):  # rows on top
            marker, label = place.kind
            drawn = axis.scatter(
                [place.alignment], [place.uniformity], c=[place.scores[panel] or 0.0], vmin=low, vmax=high,
                cmap="viridis", marker=marker, s=45, edgecolors=QUIET, linewidths=0.5, label=once(axis, label),
                zorder=2,
            )  # fmt: skip
            if place.is_baseline:
                axis.scatter(
                    [place.alignment], [place.uniformity], s=150, facecolors="none", edgecolors=PUBLISHED,
                    linewidths=1.5, label=once(axis, "baseline"), zorder=3,
                )  # fmt: skip
        if drawn is not None:
            figure.colorbar(drawn, ax=axis, label=name)
        axis.set_xlabel("alignment (lower: similar sentences closer)")
        axis.grid(alpha=0.3)
        axis.margins(0.1)
    clip([(axis, [(place.alignment, place.uniformity) for place in places]) for axis in axes], "xy")
    for panel, axis in enumerate(axes):
        _number(axis, places, {place.name: str(n) for n, place in enumerate(rows, 1)}, panel)
    axes[0].set_ylabel("uniformity (lower: spread more evenly)")
    for number, place in enumerate(rows, 1):
        axes[0].plot([], [], " ", label=f"{number}  {place.name}")
    legend(figure, axes)
    return save(figure, path)


def _ends(values: Sequence[float], least: float) -> tuple[float, float]:
    """Of the colours: the lowest and the highest value, farther apart where these are nearly the same."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    room = max(least - (high - low), 0.0) / 2
    return low - room, high + room


def _number(axis: Axes, places: Sequence[Place], numbers: dict[str, str], panel: int) -> None:
    """Each row's number beside its dot, where no other dot and no other number is near."""
    (left, right), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    box = axis.get_figure().get_size_inches()  # type: ignore[union-attr]
    scale_x, scale_y = 72 * 3.4 / (right - left), 72 * 0.7 * box[1] / (top - bottom)  # about as large as a panel is
    shown = [place for place in places if place.scores[panel] is not None]
    at = [(min(max(p.alignment, left), right), min(max(p.uniformity, bottom), top)) for p in shown]
    taken = [(x * scale_x, y * scale_y) for x, y in at]
    for place, (x, y) in zip(shown, at, strict=True):
        if not place.name:
            continue
        middle = x * scale_x, y * scale_y

        def room(offset: tuple[int, int], middle: tuple[float, float] = middle) -> float:
            spot = middle[0] + offset[0], middle[1] + offset[1]
            return min(
                ((spot[0] - other[0]) ** 2 + (spot[1] - other[1]) ** 2 for other in taken if other != middle),
                default=0.0,
            )

        offset = max(OFFSETS, key=room)
        taken.append((middle[0] + offset[0], middle[1] + offset[1]))
        axis.annotate(
            numbers[place.name], (x, y), xytext=offset, textcoords="offset points", fontsize=8, ha="center",
            va="center", zorder=21,
        )  # fmt: skip
