"""A score over a grid of recipes: boxes by the value of a key, and lines over a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reports.plots.canvas import LINES, OURS, PUBLISHED, legend, make_figure, save
from trainables.recipe import keys

BOXED, CROWDED = 3, 28
"""The fewest recipes of a box. An axis whose labels have more letters together has them turned."""
Line = Sequence[tuple[float, float, float | None]]
"""Points of a line: x, score, standard deviation over seeds."""


def distribution_picture(panels: Mapping[str, Mapping[str, Sequence[float]]], score: str, path: Path) -> Path:
    """For each key a panel, for each of its values a box over the recipes that have it, and the recipes as dots."""
    figure, axes = make_figure(len(panels), height=3.8, width=max(5.0, 3.4 * len(panels)), sharey=True)
    for axis, (key, values) in zip(axes, panels.items(), strict=True):
        axis.boxplot(
            [scores if len(scores) >= BOXED else [] for scores in values.values()], widths=0.5, showfliers=False,
            medianprops={"color": PUBLISHED, "linewidth": 1.5},
        )  # fmt: skip
        crowded = sum(map(len, values)) > CROWDED
        turned: dict[str, Any] = {"rotation": 25, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
        axis.set_xticks(range(1, len(values) + 1), list(values), **turned)
        for place, scores in enumerate(values.values(), start=1):
            step = 0.3 / max(len(scores), 1)  # spread in the order of the recipes, so that equal scores show
            xs = [place + step * (index - (len(scores) - 1) / 2) for index in range(len(scores))]
            axis.plot(xs, scores, "o", color=OURS, alpha=0.5, markersize=4)
        axis.set_xlabel(keys()[key].label)
        axis.grid(axis="y", alpha=0.3)
    axes[0].set_ylabel(score)
    return save(figure, path)


def lines_picture(panels: Mapping[str, Mapping[str, Line]], key: str, score: str, path: Path) -> Path:
    """A panel for each entry, in it a line for each name over one number of the recipe."""
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    figure, axes = make_figure(len(panels), height=3.8, sharey=True)
    for axis, (title, lines) in zip(axes, panels.items(), strict=True):
        for name, points in lines.items():
            xs, ys, errors = zip(*points, strict=True)
            number = names.index(name)
            axis.errorbar(
                xs, ys, yerr=[error or 0.0 for error in errors], fmt="os^Dvx"[number % 6] + "-", capsize=3,
                color=LINES[number % len(LINES)], label=name,
            )  # fmt: skip
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(keys()[key].label)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(score)
    legend(figure, axes)
    return save(figure, path)
