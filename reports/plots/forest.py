"""Every row's gain over the baseline with its interval, sorted, and the paper's gain beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reports.evidence import Board, Standing
from reports.markdown import signed
from reports.plots.canvas import LETTER, OURS, PUBLISHED, QUIET, legend, make_figure, once, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLAG = "⚠"
MOST = 40
"""So many rows of a board are drawn, those with the highest gains."""
LINE = 0.24
"""Height of a row in inches."""
FENCE = 3.0
"""What lies farther from the middle half of all gains than so many times its width is told at the edge."""
Limits = tuple[float, float]


def forest_picture(boards: Sequence[Board], path: Path) -> Path | None:
    """Gains in points on one scale, board under board, the highest on top; None where no row has a gain of ours."""
    drawn = [(board, shown) for board in boards if (shown := with_gain(board)[:MOST])]
    if not drawn:
        return None
    limits = scale([item for _, shown in drawn for item in shown])
    lines = sum(len(shown) + 1 for _, shown in drawn)
    longest = max(len(item.name) for _, shown in drawn for item in shown)
    figure, [axis] = make_figure(1, height=1.2 + LINE * lines, width=5.5 + LETTER * longest)
    names: list[str] = []
    for board, shown in drawn:
        heading = len(names)
        names.append(board.quantity.name)
        axis.axhspan(heading - 0.5, heading + 0.5, color="#f0f0f0", zorder=0)
        for item in shown:
            _draw(axis, item, len(names), limits)
            names.append(f"{FLAG} {item.name}" if item.flags else item.name)
    axis.set_yticks(range(len(names)), names)
    for tick, name in zip(axis.get_yticklabels(), names, strict=True):
        tick.set_fontweight("bold" if name in {board.quantity.name for board, _ in drawn} else "normal")
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlim(*limits)
    axis.axvline(0, color=QUIET, linewidth=1, zorder=1)
    axis.grid(axis="x", alpha=0.3)
    baselines = list(dict.fromkeys(str(board.baseline) for board, _ in drawn))
    axis.set_xlabel(f"points above or below {' and '.join(baselines)}")
    legend(figure, [axis])
    return save(figure, path)


def with_gain(board: Board) -> list[Standing]:
    """The board's rows that have a gain over the baseline, the highest first."""
    rows = [item for item in board.standings if item.gain is not None]
    return sorted(rows, key=lambda item: -item.gain.gain if item.gain else 0.0)


def scale(shown: Sequence[Standing]) -> Limits:
    """From where to where the axis goes: zero, and every end of an interval but for those far off all others.

    Far off is what lies beyond the middle half of all gains, ours and published, by three times its width.
    """
    gains = sorted(value for item in shown for value in _points(item))
    low, high = gains[len(gains) // 4], gains[(3 * len(gains)) // 4]
    reach = FENCE * max(high - low, 0.1)
    fence = (low - reach, high + reach)
    ends = [point for item in shown for point in _points(item) if _within(point, fence)]
    ends += [end for item in shown if item.gain and _within(item.gain.gain, fence) for end in _ends(item)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = 0.06 * (high - low) or 1.0
    return low - room, high + room


def _points(item: Standing) -> list[float]:
    ours = [item.gain.gain] if item.gain else []
    return ours if item.published is None else [*ours, item.published]


def _ends(item: Standing) -> list[float]:
    return [end for end in (item.gain.low, item.gain.high) if end is not None] if item.gain else []


def _draw(axis: Axes, item: Standing, place: int, limits: Limits) -> None:
    """One row: its published gain as a diamond, ours as a dot with its interval; what is off the scale as a number."""
    gain = item.gain
    assert gain is not None
    outside: list[tuple[str, float, str]] = []
    if item.published is not None and _within(item.published, limits):
        axis.plot(item.published, place, "D", color=PUBLISHED, markersize=5, zorder=2, label=once(axis, "published"))
    elif item.published is not None:
        outside.append(("published", item.published, PUBLISHED))
    color = OURS if item.verdict in ("above", "below") else QUIET
    if not _within(gain.gain, limits):
        outside.append(("ours", gain.gain, color))
    else:
        if gain.low is not None and gain.high is not None:
            ends = [max(gain.low, limits[0]), min(gain.high, limits[1])]
            axis.plot(ends, [place] * 2, "--" if gain.one_seed else "-", color=color, linewidth=1.6, zorder=3)
            axis.plot(ends, [place] * 2, "|", color=color, markersize=6, zorder=3)
        fill = "white" if gain.one_seed else color
        label = once(axis, _name(item))
        axis.plot(gain.gain, place, "o", color=color, markersize=6, markerfacecolor=fill, zorder=4, label=label)
    for left in (True, False):
        _at_the_edge(axis, [found for found in outside if (found[1] < limits[0]) == left], place, limits, left)


def _within(value: float, limits: Limits) -> bool:
    return limits[0] <= value <= limits[1]


def _name(item: Standing) -> str:
    """What the legend calls a dot that looks like this one."""
    gain = item.gain
    assert gain is not None
    if gain.one_seed:
        return "ours, one seed: 95 % over test items only" if gain.low is not None else "ours, one seed, no interval"
    return "ours, 95 %, shown to differ" if item.verdict in ("above", "below") else "ours, 95 %, not shown to differ"


def _at_the_edge(axis: Axes, outside: Sequence[tuple[str, float, str]], place: int, limits: Limits, left: bool) -> None:
    """A triangle that points beyond the axis, with the numbers that lie there."""
    if not outside:
        return
    room = 0.012 * (limits[1] - limits[0])
    edge = limits[0] + room if left else limits[1] - room
    color = outside[0][2] if len(outside) == 1 else QUIET
    axis.plot(edge, place, "<" if left else ">", color=color, markersize=6, zorder=4)
    said = ", ".join(f"{name} {signed(value)}" for name, value, _ in outside)
    side = "left" if left else "right"
    axis.text(edge + (room if left else -room), place, said, color=color, fontsize=8, va="center", ha=side, zorder=4)
