"""The course of a search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.plots.canvas import OURS, PUBLISHED, legend, make_figure, save
from reports.plots.outliers import clip


def search_picture(
    values: Sequence[float],
    best_row: float | None,
    path: Path,
    what: str = "development score",
    *,
    lower_is_better: bool = False,
) -> Path:
    """What each explored recipe reached, in the order of exploration, and the best so far."""
    figure, (axis,) = make_figure(1, height=3.4)
    numbers = range(1, len(values) + 1)
    axis.plot(numbers, values, "o", color=OURS, alpha=0.8, label="explored recipe")
    best_of = min if lower_is_better else max
    best = [best_of(values[: n + 1]) for n in range(len(values))]
    axis.step(numbers, best, where="post", color=OURS, label="best so far")
    if best_row is not None:
        axis.axhline(best_row, color=PUBLISHED, linestyle="--", label="best of the space's rows")
    axis.set_xlabel("explored recipe with a score, in order")
    axis.set_ylabel(f"{what} (lower is better)" if lower_is_better else what)
    axis.set_xlim(0.5, max(len(values), 2) + 0.5)
    line = [] if best_row is None else [(len(values) or 1, best_row)]
    clip([(axis, [*zip(numbers, values, strict=True), *line])])
    axis.grid(alpha=0.3)
    legend(figure, [axis])
    return save(figure, path)
