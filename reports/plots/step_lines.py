"""What was measured over the steps of trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

from reports.plots.canvas import LINES, finish, make_figure, once

Course = Sequence[tuple[float, float]]
"""A step, and the value there."""


def step_picture(courses: Mapping[str, Sequence[Course]], path: Path, figure: str) -> Path:
    """By the recipe's name the courses of its seeds, in one colour."""
    drawn, (axis,) = make_figure(1, height=3.4, width=6.0)
    for colour, (name, seeds) in zip(cycle(LINES), courses.items(), strict=False):
        for course in seeds:
            axis.plot(*zip(*course, strict=True), color=colour, label=once(axis, name))
    return finish(drawn, axis, "step", figure, path)
