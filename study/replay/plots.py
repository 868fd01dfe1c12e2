"""The course of replayed searches: what they had found, against their trials, their time and their compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from reports.plots.canvas import LINES, QUIET, legend, make_figure, save
from study.replay.compare import Outcome
from study.replay.metrics import Progress
from study.replay.repeats import mean

POINTS = 120
"""Of a line."""
STYLES = ("-", "--", ":")
"""Of lines, where there are more of them than colours."""
AXES: tuple[tuple[str, Callable[[Progress, Outcome], np.ndarray]], ...] = (
    ("trials that ended", lambda course, outcome: course.trials),
    ("simulated seconds", lambda course, outcome: course.clock),
    ("compute, in percent of the whole record's", lambda course, outcome: 100 * course.compute / outcome.whole),
)
"""What a search may be measured against: the axis's label, and its values of a repeat."""


def plot_progress(
    searches: Mapping[str, Sequence[Outcome]],
    values: Callable[[Progress], np.ndarray],
    label: str,
    level: float | None,
    meaning: str,
    path: Path,
) -> Path:
    """The mean over repeats of `values`, and its 95 % interval, against trials, time and compute. `level` is a line
    across, named `meaning`."""
    figure, axes = make_figure(len(AXES), height=4.2, sharey=True)
    for axis, (name, position) in zip(axes, AXES, strict=True):
        furthest = max(float(position(out.progress, out)[-1]) for outcomes in searches.values() for out in outcomes)
        places = np.linspace(0, furthest or 1.0, POINTS)
        for number, (search, outcomes) in enumerate(searches.items()):
            lines = np.array([_at(places, position(out.progress, out), values(out.progress)) for out in outcomes])
            known = ~np.isnan(lines).any(axis=0)
            found = [mean(column) for column in lines[:, known].T]
            colour, style = LINES[number % len(LINES)], STYLES[number // len(LINES) % len(STYLES)]
            axis.plot(places[known], [each.value for each in found], style, color=colour, label=search)
            low, high = [each.low for each in found], [each.high for each in found]
            axis.fill_between(places[known], low, high, color=colour, alpha=0.15, linewidth=0)
        if level is not None:
            axis.axhline(level, color=QUIET, linestyle="--", linewidth=1, label=meaning)
        axis.set_xlabel(name)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(label)
    legend(figure, axes)
    return save(figure, path)


def _at(places: np.ndarray, positions: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The values of a course that goes in steps: what was last reached at each place."""
    return values[np.searchsorted(positions, places, side="right") - 1]
