"""The score over each of the hyperparameters that matter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reports.importance import Curve
from reports.plots.canvas import OURS, QUIET, legend, make_figure, save
from reports.plots.outliers import clip
from trainables.recipe import Value, keys

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def importance_picture(curves: Sequence[Curve], score: str, path: Path) -> Path:
    """A panel for each curve: the recipes as dots, what the fits predict as a line with the range of the fits."""
    figure, axes = make_figure(len(curves), height=3.4, width=max(5.0, 3.4 * len(curves)), sharey=True)
    panels: list[tuple[Axes, list[tuple[float, float]]]] = []
    for axis, curve in zip(axes, curves, strict=True):
        numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in curve.values)
        names = [_name(value) for value in curve.values]

        def at(value: Value, numeric: bool = numeric, names: list[str] = names) -> float:
            return float(value) if numeric and isinstance(value, int | float) else names.index(_name(value))

        xs = [at(value) for value in curve.values]
        dots = [(at(value), own) for value, own in curve.tried]
        axis.plot(*zip(*dots, strict=True), "o", color=QUIET, alpha=0.5, markersize=3.5, label="recipe")
        if numeric:
            axis.fill_between(xs, curve.low, curve.high, color=OURS, alpha=0.2, linewidth=0, label="range of the fits")
            axis.plot(xs, curve.mean, color=OURS, label="fit, all other keys as in the study")
            if curve.log:
                axis.set_xscale("log")
        else:
            axis.vlines(xs, curve.low, curve.high, color=OURS, alpha=0.4, linewidth=5, label="range of the fits")
            axis.plot(xs, curve.mean, "D", color=OURS, markersize=5, label="fit, all other keys as in the study")
            axis.set_xticks(xs, names, rotation=25 if sum(map(len, names)) > 20 else 0)
            axis.margins(x=0.15)
        axis.set_xlabel(keys()[curve.key].label)
        panels.append((axis, dots))
        axis.grid(alpha=0.3)
    clip(panels)
    axes[0].set_ylabel(score)
    legend(figure, axes)
    return save(figure, path)


def _name(value: Value) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
