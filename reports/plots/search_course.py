"""The course of a search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.plots.canvas import OURS, PUBLISHED, finish, make_figure
from reports.plots.outliers import clip

UNITS = (("hours", 3600.0, 2.0), ("minutes", 60.0, 2.0), ("seconds", 1.0, 0.0))
"""Of time: how many seconds one is, and from how many of it on it is taken."""


def search_picture(
    course: Sequence[tuple[float, float]],
    best_row: float | None,
    path: Path,
    what: str = "development score",
    *,
    lower_is_better: bool = False,
) -> Path:
    """What each explored recipe reached, and the best so far, over the seconds that the search had taken by then."""
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
