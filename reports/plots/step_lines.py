"""What was measured over the steps of trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

from reports.plots.canvas import LINES, legend, make_figure, once, save

Course = Sequence[tuple[float, float]]
"""A step, and the value there."""


def step_picture(courses: Mapping[str, Sequence[Course]], path: Path, figure: str) -> Path:
    """By the recipe's name the courses of its seeds, in one colour."""
    drawn, (axis,) = make_figure(1, height=3.4, width=6.0)
    for colour, (name, seeds) in zip(cycle(LINES), courses.items(), strict=False):
        for course in seeds:
            axis.plot(*zip(*course, strict=True), color=colour, label=once(axis, name))
    axis.set_xlabel("step")
    axis.set_ylabel(figure)
    axis.grid(alpha=0.3)
    legend(drawn, [axis])
    return save(drawn, path)
