"""Scores over their cost: the time of a search, steps of a training, data, bytes of a vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

from reports.plots.canvas import (
    LINE_COLOURS,
    OURS,
    PUBLISHED,
    QUIET,
    Dot,
    draw_bars,
    finish,
    log_scale,
    make_figure,
    new_label,
)
from reports.plots.outliers import clip

Course = Sequence[tuple[float, float]]
"""A curve, as pairs: a step, or seconds, and the value there."""
UNITS = (("hours", 3600.0, 2.0), ("minutes", 60.0, 2.0), ("seconds", 1.0, 0.0))
"""Units of time: name, seconds per unit, and the smallest number of units from which the unit is used."""


def search_picture(
    course: Course, best_row: float | None, path: Path, what: str, *, lower_is_better: bool = False
) -> Path:
    """Draw the value of each explored recipe, and the best so far, over the seconds that trials had taken by then."""
    last = max((seconds for seconds, _ in course), default=0.0)
    unit, size, _ = next(scale for scale in UNITS if last >= scale[1] * scale[2])
    spent, values = [seconds / size for seconds, _ in course], [value for _, value in course]
    figure, (axis,) = make_figure(1, height=3.2, width=5.4)
    axis.plot(spent, values, "o", color=OURS, alpha=0.8, label="explored recipe")
    best_of = min if lower_is_better else max
    best = [best_of(values[: n + 1]) for n in range(len(values))]
    axis.step(spent, best, where="post", color=OURS, label="best so far")
    if best_row is not None:
        axis.axhline(best_row, color=PUBLISHED, linestyle="--", label="best of the space's rows")
    axis.set_xlim(0, 1.03 * last / size or 1.0)
    clip([(axis, [*zip(spent, values, strict=True)])], within=[] if best_row is None else [best_row])
    upwards = f"{what} (lower is better)" if lower_is_better else what
    return finish(figure, axis, f"{unit} of trials, in the search's order", upwards, path)


def step_picture(courses: Mapping[str, Sequence[Course]], path: Path, figure: str) -> Path:
    """Draw the curves of all seeds over training steps, in one colour for each recipe. `courses`: by recipe name."""
    drawn, (axis,) = make_figure(1, height=3.4, width=6.0)
    for colour, (name, seeds) in zip(cycle(LINE_COLOURS), courses.items(), strict=False):
        for course in seeds:
            axis.plot(*zip(*course, strict=True), color=colour, label=new_label(axis, name))
    return finish(drawn, axis, "step", figure, path)


def data_picture(points: Sequence[Dot], marks: dict[str, float], path: Path, *, unit: str, figure: str) -> Path:
    """Draw a dot with its interval for each amount of data, on a log scale. `marks`: scores for comparison, by name."""
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


def size_picture(points: Sequence[tuple[str, float, float, bool]], score: str, path: Path) -> Path:
    """Draw points of (number format, MB, score, whether it is on the front). Steps join the front."""
    figure, (axis,) = make_figure(1, height=4.0, width=5.6)
    front = sorted((size, value) for _, size, value, is_front in points if is_front)
    axis.step(*zip(*front, strict=True), where="post", color=QUIET, label="front")
    for colour, name in zip(LINE_COLOURS, dict.fromkeys(point[0] for point in points), strict=False):
        own = [(size, value) for numbers, size, value, _ in points if numbers == name]
        axis.plot(*zip(*own, strict=True), "o", color=colour, label=name)
    log_scale(axis)
    return finish(figure, axis, "MB of a million vectors", score, path)
