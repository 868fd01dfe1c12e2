"""The score over a hyperparameter that matters."""

from __future__ import annotations

from pathlib import Path

from reports.importance import KeyCurve
from reports.plots.canvas import OURS, QUIET, finish, log_scale, make_figure
from reports.plots.outliers import clip
from trainables.recipe import Value, keys


def importance_picture(curve: KeyCurve, score: str, path: Path) -> Path:
    """Draw the recipes as dots, the mean prediction of the fits as a line, and the range of the fits."""
    figure, [axis] = make_figure(1, height=3.2, width=3.7)
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in curve.values)
    names = [_name(value) for value in curve.values]

    def at(value: Value) -> float:
        return float(value) if numeric and isinstance(value, int | float) else names.index(_name(value))

    xs = [at(value) for value in curve.values]
    dots = [(at(value), own) for value, own in curve.tried]
    axis.plot(*zip(*dots, strict=True), "o", color=QUIET, alpha=0.5, markersize=3.5, label="recipe")
    fits, ends = "fit, all other keys as in the study", "range of the fits"
    if numeric:
        axis.fill_between(xs, curve.low, curve.high, color=OURS, alpha=0.2, linewidth=0, label=ends)
        axis.plot(xs, curve.mean, color=OURS, label=fits)
        if curve.log:
            log_scale(axis)
    else:
        axis.vlines(xs, curve.low, curve.high, color=OURS, alpha=0.4, linewidth=5, label=ends)
        axis.plot(xs, curve.mean, "D", color=OURS, markersize=5, label=fits)
        axis.set_xticks(xs, names, rotation=25 if sum(map(len, names)) > 20 else 0)
        axis.margins(x=0.15)
    clip([(axis, dots)])
    return finish(figure, axis, keys()[curve.key].label, score, path)


def _name(value: Value) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
