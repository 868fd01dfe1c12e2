"""Parts of all pictures: colours, a figure with panels, its legend, and the only function that writes a file."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trainables.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from reports.facts.gain import Gain
    from reports.plots.shown import ShownFigure
    from reports.statistics import Comparison

Ends = tuple[float, float]
OURS, PUBLISHED, QUIET, FLAGGED = "#0b5fa5", "#d1600a", "#8a8a8a", "#b03050"
LINE_COLOURS = (OURS, PUBLISHED, "#2a8a4a", "#8a3fa0", "#b8a000", "#555555")
LETTER_WIDTH = 0.085
"""Assumed width of one letter of an axis's labels, in inches."""


class Dot(NamedTuple):
    """A measured point of a plot; `ends` are the ends of its interval, None without an interval."""

    x: float
    y: float
    ends: Ends | None


def ends_of(gain: Gain | Comparison | None) -> Ends | None:
    """Return the ends of the gain's interval; None if they are unknown."""
    return None if gain is None or gain.low is None or gain.high is None else (gain.low, gain.high)


def make_figure(
    panels: int, height: float, width: float | None = None, **options: Any
) -> tuple[ShownFigure, list[Axes]]:
    """Return a figure and its panels, side by side. Sizes are of the whole figure, in inches."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    from reports.plots.shown import ShownFigure

    figure = ShownFigure(figsize=(width or 4.6 * panels + 1.4, height), layout="constrained")
    FigureCanvasSVG(figure)
    return figure, list(figure.subplots(1, panels, squeeze=False, **options)[0])


def draw_bars(axis: Axes, dots: Sequence[Dot], color: str) -> None:
    """Draw vertical bars for the intervals of the dots that have one."""
    for x, y, ends in dots:
        if ends is not None:
            axis.errorbar([x], [y], yerr=[[y - ends[0]], [ends[1] - y]], fmt="none", color=color, capsize=3)


def log_scale(axis: Axes) -> None:
    """Set a logarithmic x axis; its numbers are plain text, as an SVG shows no formula."""
    from matplotlib.ticker import LogLocator

    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter("")


def new_label(axis: Axes, label: str) -> str | None:
    """Return the label for the legend, or None if the panel has this label already."""
    return None if label in axis.get_legend_handles_labels()[1] else label


def legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """Draw the legend below the panels, in as many columns as fit."""
    handles: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    letters = int(11 * figure.get_figwidth())
    names = [textwrap.fill(name, letters - 5) for name in handles]
    columns = letters // (max(map(len, handles), default=0) + 7)
    figure.legend(handles.values(), names, loc="outside lower center", ncols=min(max(columns, 1), 4), frameon=False)


def finish(figure: ShownFigure, axis: Axes, across: str, upwards: str, path: Path) -> Path:
    """Label the axes of a figure's only panel, add its grid and legend, and save it."""
    axis.set_xlabel(across)
    axis.set_ylabel(upwards)
    axis.grid(alpha=0.3)
    legend(figure, [axis])
    return save(figure, path)


def save(figure: ShownFigure, path: Path) -> Path:
    """Write the picture as SVG, in one step: nobody reads half of a file. Return the path."""
    write_whole(path, svg(figure))
    return path


def svg(figure: ShownFigure) -> bytes:
    """Return the bytes of the SVG that `save` writes. Tests that look at no picture replace it with something quick."""
    return figure.as_svg()
