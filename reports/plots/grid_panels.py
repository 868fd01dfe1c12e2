"""A score over a grid of recipes: boxes by the value of a key, and lines over a numeric key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports.plots.canvas import LINE_COLOURS, OURS, PUBLISHED, Dot, draw_bars, legend, make_figure, save
from reports.plots.outliers import clip
from trainables.recipe import keys

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BOXED, CROWDED = 3, 28
"""Smallest number of recipes for a box; largest number of letters in an axis's labels that are not turned."""


def distribution_picture(panels: Mapping[str, Mapping[str, Sequence[float]]], score: str, path: Path) -> Path:
    """Draw a panel for each key, with a box for each value over its recipes, and the recipes as dots."""
    figure, axes = make_figure(len(panels), height=3.8, width=max(5.0, 3.4 * len(panels)), sharey=True)
    dotted: list[tuple[Axes, list[tuple[float, float]]]] = []
    for axis, (key, values) in zip(axes, panels.items(), strict=True):
        axis.boxplot(
            [scores if len(scores) >= BOXED else [] for scores in values.values()], widths=0.5, showfliers=False,
            medianprops={"color": PUBLISHED, "linewidth": 1.5},
        )  # fmt: skip
        crowded = sum(map(len, values)) > CROWDED
        dots: list[tuple[float, float]] = []
        turned: dict[str, Any] = {"rotation": 25, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
        axis.set_xticks(range(1, len(values) + 1), list(values), **turned)
        for position, scores in enumerate(values.values(), start=1):
            step = 0.3 / max(len(scores), 1)  # spread in the order of the recipes, so that equal scores show
            xs = [position + step * (index - (len(scores) - 1) / 2) for index in range(len(scores))]
            axis.plot(xs, scores, "o", color=OURS, alpha=0.5, markersize=4)
            dots += zip(xs, scores, strict=True)
        dotted.append((axis, dots))
        axis.set_xlabel(keys()[key].label)
        axis.grid(axis="y", alpha=0.3)
    clip(dotted)
    axes[0].set_ylabel(score)
    return save(figure, path)


def lines_picture(panels: Mapping[str, Mapping[str, Sequence[Dot]]], key: str, score: str, path: Path) -> Path:
    """Draw a panel for each entry of `panels`, with a line for each name over one numeric key."""
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    figure, axes = make_figure(len(panels), height=3.8, sharey=True)
    dotted: list[tuple[Axes, list[tuple[float, float]]]] = []
    for axis, (title, lines) in zip(axes, panels.items(), strict=True):
        for name, points in lines.items():
            number = names.index(name)
            colour = LINE_COLOURS[number % len(LINE_COLOURS)]
            xs, ys, _ = zip(*points, strict=True)
            axis.plot(xs, ys, "os^Dvx"[number % 6] + "-", color=colour, label=name)
            draw_bars(axis, points, colour)
        dotted.append((axis, [(x, y) for points in lines.values() for x, y, _ in points]))
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(keys()[key].label)
        axis.grid(alpha=0.3)
    clip(dotted)
    axes[0].set_ylabel(score)
    legend(figure, axes)
    return save(figure, path)
