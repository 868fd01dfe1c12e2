"""Scores over how much data a recipe was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.plots.canvas import OURS, PUBLISHED, Dot, draw_bars, finish, make_figure


def data_picture(points: Sequence[Dot], marks: dict[str, float], path: Path, *, unit: str, figure: str) -> Path:
    """A dot with its interval for each amount, on a scale on which each doubling is as wide. `marks`: what scores are
    held against, by name."""
    drawn, (axis,) = make_figure(1, height=3.4, width=5.4)
    rows, scores = [point.x for point in points], [point.y for point in points]
    axis.set_xscale("log", base=2)
    axis.plot(rows, scores, "o-", color=OURS, label="score, with its 95 % interval")
    draw_bars(axis, points, OURS)
    for name, level in marks.items():
        axis.axhline(level, color=PUBLISHED, linestyle="--", label=name)
    axis.set_xticks(rows, [f"{int(x):,}" for x in rows])
    axis.minorticks_off()
    return finish(drawn, axis, f"{unit} to train on", figure, path)
