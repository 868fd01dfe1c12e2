"""Every row's gain over the baseline with its interval, sorted, and the paper's gain beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    ends = [end for item in shown for end in (*_points(item), *_ends(item)) if low - reach <= end <= high + reach]
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
    if item.published is not None:
        if limits[0] <= item.published <= limits[1]:
            axis.plot(
                item.published, place, "D", color=PUBLISHED, markersize=5, zorder=2, label=once(axis, "published")
            )
        else:
            _at_the_edge(axis, item.published, place, limits, PUBLISHED, "published")
    gain = item.gain
    assert gain is not None
    decided = item.verdict in ("above", "below")
    color = OURS if decided else QUIET
    looks: dict[str, Any] = {"color": color, "zorder": 3}
    if gain.low is not None and gain.high is not None:
        dashed = "--" if gain.one_seed else "-"
        axis.plot([max(gain.low, limits[0]), min(gain.high, limits[1])], [place] * 2, dashed, linewidth=1.6, **looks)
    name = _name(item)
    if limits[0] <= gain.gain <= limits[1]:
        fill = "white" if gain.one_seed else color
        axis.plot(gain.gain, place, "o", markersize=6, markerfacecolor=fill, label=once(axis, name), **looks)
    else:
        _at_the_edge(axis, gain.gain, place, limits, color, name)


def _name(item: Standing) -> str:
    """What the legend calls a dot that looks like this one."""
    gain = item.gain
    assert gain is not None
    if gain.one_seed:
        return "ours, one seed: 95 % over test items only" if gain.low is not None else "ours, one seed, no interval"
    what = "ours, told apart from the baseline" if item.verdict in ("above", "below") else "ours, not told apart"
    return f"{what}, 95 %"


def _at_the_edge(axis: Axes, value: float, place: int, limits: Limits, color: str, name: str) -> None:
    """A triangle that points beyond the axis, with the number."""
    left = value < limits[0]
    room = 0.012 * (limits[1] - limits[0])
    edge = limits[0] + room if left else limits[1] - room
    axis.plot(edge, place, "<" if left else ">", color=color, markersize=6, zorder=4, clip_on=False)
    shift = room * (1.5 if left else -1.5)
    axis.text(
        edge + shift, place, f"{signed(value)} {name.split(',')[0]}", color=color, fontsize=8, zorder=4,
        va="center", ha="left" if left else "right",
    )  # fmt: skip
