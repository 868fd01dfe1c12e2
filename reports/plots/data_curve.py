"""Scores over how much data a recipe was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.plots.canvas import OURS, PUBLISHED, legend, make_figure, save

Point = tuple[float, float, float | None, float | None]
"""Rows of data, the score, and the ends of its interval."""


def data_picture(points: Sequence[Point], marks: dict[str, float], path: Path, *, unit: str, figure: str) -> Path:
    """A dot with its interval for each amount, on a scale on which each doubling is as wide. `marks`: what scores are
    held against, by name."""
    drawn, (axis,) = make_figure(1, height=3.4, width=5.4)
    rows, scores = [point[0] for point in points], [point[1] for point in points]
    axis.set_xscale("log", base=2)
    axis.plot(rows, scores, "o-", color=OURS, label="score, with its 95 % interval")
    for x, y, low, high in points:
        if low is not None and high is not None:
            axis.errorbar([x], [y], yerr=[[y - low], [high - y]], fmt="none", color=OURS, capsize=3)
    for name, level in marks.items():
        axis.axhline(level, color=PUBLISHED, linestyle="--", label=name)
    axis.set_xticks(rows, [f"{int(x):,}" for x in rows])
    axis.minorticks_off()
    axis.set_xlabel(f"{unit} to train on")
    axis.set_ylabel(figure)
    axis.grid(alpha=0.3)
    legend(drawn, [axis])
    return save(drawn, path)
