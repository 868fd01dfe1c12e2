"""Every row's gain over the baseline with its interval, sorted, and the paper's gain beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reports.boards import Board, Standing
from reports.markdown import signed
from reports.plots.canvas import FLAGGED, LETTER, OURS, PUBLISHED, QUIET, legend, make_figure, once, save
from reports.wording import interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLAG = "⚠"
MOST = 40
"""So many rows of a board are drawn, those with the highest gains."""
LINE = 0.28
"""Height of a row in inches."""
ABOVE, BELOW = -0.12, 0.22
"""Where in its row ours is drawn and where the published gain, in rows, so that equal gains hide neither."""
SAID = "#444444"
"""Numbers at the edge."""
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
    """One row: ours as a dot with its interval, below it the published gain as a diamond.

    What is off the scale is an arrow at the edge in the same colour, with its numbers.
    """
    gain = item.gain
    assert gain is not None
    outside: dict[bool, list[str]] = {True: [], False: []}
    color = {"above": OURS, "below": OURS, "no verdict": FLAGGED}.get(item.verdict, QUIET)
    if not _within(gain.gain, limits):
        left = _arrow(axis, gain.gain, place + ABOVE, limits, color)
        outside[left].append(f"ours {interval(gain)}")
    else:
        if gain.low is not None and gain.high is not None:
            shown = [max(gain.low, limits[0]), min(gain.high, limits[1])]
            line = "--" if gain.one_seed else "-"
            axis.plot(shown, [place + ABOVE] * 2, line, color=color, linewidth=1.6, zorder=3)
            axis.plot(shown, [place + ABOVE] * 2, "|", color=color, markersize=6, zorder=3)
        fill = "white" if gain.one_seed else color
        label = once(axis, _name(item))
        shape = "X" if item.verdict == "no verdict" else "o"
        axis.plot(
            gain.gain, place + ABOVE, shape, color=color, markersize=6, markerfacecolor=fill, zorder=4, label=label
        )
    if item.published is not None and _within(item.published, limits):
        label = once(axis, "published")
        axis.plot(item.published, place + BELOW, "D", color=PUBLISHED, markersize=4, zorder=5, label=label)
    elif item.published is not None:
        left = _arrow(axis, item.published, place + BELOW, limits, PUBLISHED)
        outside[left].append(f"published {signed(item.published)}")
    for left, said in outside.items():
        if said:
            edge, room = _edge(limits, left)
            x, side = (edge + room, "left") if left else (edge - room, "right")
            y = place + (ABOVE if said[0].startswith("ours") else BELOW)
            axis.text(x, y, ", ".join(said), color=SAID, fontsize=8, va="center", ha=side, zorder=6)


def _within(value: float, limits: Limits) -> bool:
    return limits[0] <= value <= limits[1]


def _name(item: Standing) -> str:
    """What the legend calls a dot that looks like this one."""
    gain = item.gain
    assert gain is not None
    if gain.one_seed:
        return "ours, one seed: 95 % over test items only" if gain.low is not None else "ours, one seed, no interval"
    if item.verdict == "no verdict":
        return "ours, 95 %, no verdict (flag)"
    return "ours, 95 %, shown to differ" if item.verdict in ("above", "below") else "ours, 95 %, not shown to differ"


def _arrow(axis: Axes, value: float, y: float, limits: Limits, color: str) -> bool:
    """A triangle that points beyond the axis; whether it does so to the left."""
    left = value < limits[0]
    axis.plot(_edge(limits, left)[0], y, "<" if left else ">", color=color, markersize=5, zorder=4)
    return left


def _edge(limits: Limits, left: bool) -> tuple[float, float]:
    """Where an arrow stands, and how far beside it its numbers."""
    room = 0.012 * (limits[1] - limits[0])
    return (limits[0] + room if left else limits[1] - room), room
