"""Alignment against uniformity, a dot for each recipe, coloured by a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.plots.canvas import PUBLISHED, QUIET, legend, make_figure, once, save


@dataclass(frozen=True)
class Place:
    """A recipe as the picture shows it."""

    alignment: float
    uniformity: float
    scores: tuple[float | None, ...]
    """By panel."""
    is_row: bool
    is_baseline: bool


def geometry_picture(places: Sequence[Place], names: Sequence[str], path: Path) -> Path:
    """A panel for each score. Lower is better on both axes: similar sentences close, all sentences spread evenly."""
    figure, axes = make_figure(len(names), height=4.2, sharey=True)
    for panel, (axis, name) in enumerate(zip(axes, names, strict=True)):
        scored = [place for place in places if place.scores[panel] is not None]
        known = [place.scores[panel] or 0.0 for place in scored]
        low, high = min(known, default=0.0), max(known, default=1.0)
        drawn = None
        for is_row, marker, label in ((True, "o", "row"), (False, "^", "explored recipe")):
            these = [place for place in scored if place.is_row == is_row]
            if these:
                drawn = axis.scatter(
                    [place.alignment for place in these],
                    [place.uniformity for place in these],
                    c=[place.scores[panel] or 0.0 for place in these],
                    vmin=low, vmax=high, cmap="viridis", marker=marker, s=45, edgecolors=QUIET, linewidths=0.5,
                    label=once(axis, label), zorder=2,
                )  # fmt: skip
        for place in scored:
            if place.is_baseline:
                axis.scatter(
                    [place.alignment], [place.uniformity], s=150, facecolors="none", edgecolors=PUBLISHED,
                    linewidths=1.5, label=once(axis, "baseline"), zorder=3,
                )  # fmt: skip
        if drawn is not None:
            figure.colorbar(drawn, ax=axis, label=name)
        axis.set_xlabel("alignment (lower: similar sentences closer)")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("uniformity (lower: spread more evenly)")
    legend(figure, axes)
    return save(figure, path)
