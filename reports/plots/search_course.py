"""The course of a search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.plots.canvas import OURS, PUBLISHED, legend, make_figure, save


def search_picture(scores: Sequence[tuple[str, float]], paper_best: float | None, path: Path) -> Path:
    """Development score of each explored recipe in the order of exploration, and the best so far."""
    figure, (axis,) = make_figure(1, height=3.4)
    values = [value for _, value in scores]
    numbers = range(1, len(values) + 1)
    axis.plot(numbers, values, "o", color=OURS, label="explored recipe")
    axis.step(
        numbers, [max(values[: n + 1]) for n in range(len(values))], where="post", color=OURS, label="best so far"
    )
    if paper_best is not None:
        axis.axhline(paper_best, color=PUBLISHED, linestyle="--", label="best of the space's rows")
    axis.set_xlabel("explored recipe, in order")
    axis.set_ylabel("development score")
    axis.set_xlim(0.5, max(len(values), 2) + 0.5)
    axis.grid(alpha=0.3)
    legend(figure, [axis])
    return save(figure, path)
