"""Sizes of embeddings: what a million vectors take, and what they score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.plots.canvas import LINES, QUIET, finish, log_scale, make_figure


def size_picture(points: Sequence[tuple[str, float, float, bool]], score: str, path: Path) -> Path:
    """Each point is a format of numbers, MB, a score, and whether it is on the front, which is joined by steps."""
    figure, (axis,) = make_figure(1, height=4.0, width=5.6)
    front = sorted((size, value) for _, size, value, is_front in points if is_front)
    axis.step(*zip(*front, strict=True), where="post", color=QUIET, label="front")
    for colour, name in zip(LINES, dict.fromkeys(point[0] for point in points), strict=False):
        own = [(size, value) for numbers, size, value, _ in points if numbers == name]
        axis.plot(*zip(*own, strict=True), "o", color=colour, label=name)
    log_scale(axis)
    return finish(figure, axis, "MB of a million vectors", score, path)
