"""Forest plot: sorted gains with their intervals, grouped by reference, with the paper's gain below each."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reports.plots.canvas import (
    FLAGGED,
    LETTER_WIDTH,
    LINE_COLOURS,
    OURS,
    PUBLISHED,
    QUIET,
    legend,
    make_figure,
    new_label,
    save,
)
from reports.words.comparisons import difference
from reports.words.markdown import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from reports.plots.shown import ShownFigure

FLAG = "⚠"
MAX_LINES = 40
"""Largest number of lines drawn in a group; the lines with the highest gains are drawn."""
LINE_HEIGHT, WRAP_HEIGHT, PLOT_WIDTH = 0.3, 0.19, 3.5
"""In inches: height of a line, height of each further line of its name, and width beside the names."""
AXIS_HEIGHT, LEGEND_HEIGHT = 0.7, 0.22
"""In inches: height of the axis below the lines, and of one name in the legend."""
NAME_LETTERS, TITLE_LETTERS = 24, 40
"""Number of letters after which a name, or a title, is wrapped."""
OUR_OFFSET, PUBLISHED_OFFSET = -0.12, 0.22
"""Heights of our gain and of the published gain relative to the name, so that equal gains hide neither."""
NUMBER_COLOUR, MARK_COLOUR = "#444444", LINE_COLOURS[2]
"""Colours of numbers at the plot's edge, and of the lines for `GainGroup.marks`."""
FENCE = 3.0
"""Gains farther from the middle half of all gains than this many widths of that half are drawn at the plot's edge."""
DASHES = ("--", ":", "-.")
Limits = tuple[float, float]


@dataclass(frozen=True)
class GainLine:
    """A line of the plot: one recipe's gain in points."""

    name: str
    gain: float
    low: float | None
    high: float | None
    shown: bool = False
    """Whether the gain is shown to differ from zero."""
    one_seed: bool = False
    no_verdict: bool = False
    """Whether a flag forbids a verdict on the gain."""
    flagged: bool = False
    published: float | None = None
    at_once: bool = False
    """Whether the interval holds for all lines at once, with the confidence that the report's text states."""

    @property
    def legend_label(self) -> str:
        """The label in the legend for dots like this one (shown, no verdict, ...)."""
        if self.one_seed:
            return "one seed: 95 % over test items only" if self.low is not None else "one seed, no interval"
        if self.no_verdict:
            return "95 %, no verdict (flag)"
        sure = "" if self.at_once else "95 %, "
        return f"{sure}shown to differ" if self.shown else f"{sure}not shown to differ"


@dataclass(frozen=True)
class GainGroup:
    """Lines under a heading, all gains over the same reference."""

    title: str
    lines: Sequence[GainLine]
    marks: Mapping[str, float] = field(default_factory=dict)
    """Gains of further references, by name; each is drawn as a vertical line."""


def forest_picture(groups: Sequence[GainGroup], path: Path, most: int = MAX_LINES) -> Path | None:
    """Draw the figure and save it as a file. Return the path, or None if there are no gains."""
    figure = forest_figure(groups, most)
    return save(figure, path) if figure else None


def forest_figure(groups: Sequence[GainGroup], most: int = MAX_LINES) -> ShownFigure | None:
    """Draw gains in points on one x axis, group below group, in each the highest on top. None if there are no gains."""
    drawn = [
        replace(group, lines=sorted(group.lines, key=lambda line: -line.gain)[:most]) for group in groups if group.lines
    ]
    if not drawn:
        return None
    limits = scale(
        [line for group in drawn for line in group.lines], [at for group in drawn for at in group.marks.values()]
    )
    names: list[str] = []
    titles: list[list[str]] = []
    positions: list[float] = []
    height = 0.0
    for group in drawn:
        titles.append(textwrap.wrap(group.title, TITLE_LETTERS))
        named = [
            textwrap.wrap(f"{FLAG} {line.name}" if line.flagged else line.name, NAME_LETTERS) for line in group.lines
        ]
        for words in ([""] * len(titles[-1]), *named):
            own = LINE_HEIGHT + WRAP_HEIGHT * (len(words) - 1)
            names.append("\n".join(words).strip())
            positions.append(height + own / 2)
            height += own
    longest = max(len(words) for name in names for words in name.split("\n"))
    figure, [axis] = make_figure(1, height=height, width=PLOT_WIDTH + LETTER_WIDTH * longest)
    remaining = iter(positions)
    for group, words in zip(drawn, titles, strict=True):
        top, half = next(remaining), (LINE_HEIGHT + WRAP_HEIGHT * (len(words) - 1)) / 2
        axis.axhspan(top - half, top + half, color="#f0f0f0", zorder=2)
        corner, beside = (limits[0], top), (4, 0)  # the position in the picture, and points from there
        note = axis.annotate(
            "\n".join(words), corner, beside, textcoords="offset points", fontweight="bold", va="center", fontsize=9,
            zorder=7,
        )  # fmt: skip
        note.set_in_layout(False)  # a long title takes no room from the panel
        ends = [top + half, top + half]
        for line in group.lines:
            ends[1] = next(remaining)
            _draw(axis, line, ends[1], limits)
        ends[1] += LINE_HEIGHT / 2
        for (name, at), dashes in zip(group.marks.items(), DASHES, strict=False):
            if _within(at, limits):
                axis.plot(
                    [at, at], ends, dashes, color=MARK_COLOUR, linewidth=1.4, zorder=2, label=new_label(axis, name)
                )
            else:
                left = _arrow(axis, at, ends[1] - LINE_HEIGHT / 4, limits, MARK_COLOUR)
                _say(axis, f"{name} {signed(at)}", ends[1] - LINE_HEIGHT / 4, limits, left)
    axis.set_yticks(positions, names)
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(height, 0)
    axis.set_xlim(*limits)
    axis.axvline(0, color=QUIET, linewidth=1, zorder=1)
    axis.grid(axis="x", alpha=0.3)
    axis.set_xlabel("points")
    figure.set_figheight(AXIS_HEIGHT + height + LEGEND_HEIGHT * len(axis.get_legend_handles_labels()[1]))
    legend(figure, [axis])
    return figure


def scale(shown: Sequence[GainLine], marks: Sequence[float] = ()) -> Limits:
    """Return the ends of the axis. The axis contains zero and every end of an interval, except those of far values.

    A value is far if its distance from the middle half of all gains, ours and published, is above `FENCE` times the
    width of that half, or of the widest interval if that is larger.
    """
    gains = sorted(value for line in shown for value in _points(line))
    low, high = gains[len(gains) // 4], gains[(3 * len(gains)) // 4]
    widths = [line.high - line.low for line in shown if line.low is not None and line.high is not None]
    reach = FENCE * max(high - low, *widths, 0.1)
    fence = (low - reach, high + reach)
    ends = [point for line in shown for point in _points(line) if _within(point, fence)]
    ends += [end for line in shown if _within(line.gain, fence) for end in (line.low, line.high) if end is not None]
    ends += [at for at in marks if _within(at, fence)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = 0.06 * (high - low) or 1.0
    return low - room, high + room


def _points(line: GainLine) -> list[float]:
    return [line.gain] if line.published is None else [line.gain, line.published]


def _draw(axis: Axes, line: GainLine, position: float, limits: Limits) -> None:
    """Draw our gain as a dot with its interval, and below it the published gain as a diamond.

    A value off the scale is an arrow at the edge in the same colour, with its numbers.
    """
    color = FLAGGED if line.no_verdict else OURS if line.shown and not line.one_seed else QUIET
    above, below = position + OUR_OFFSET * LINE_HEIGHT, position + PUBLISHED_OFFSET * LINE_HEIGHT
    outside: dict[tuple[bool, float], str] = {}
    if not _within(line.gain, limits):
        left = _arrow(axis, line.gain, above, limits, color)
        outside[left, above] = f"ours {difference(line.gain, line.low, line.high)}"
    else:
        if line.low is not None and line.high is not None:
            ends = [max(line.low, limits[0]), min(line.high, limits[1])]
            axis.plot(ends, [above] * 2, "--" if line.one_seed else "-", color=color, linewidth=1.6, zorder=3)
            axis.plot(ends, [above] * 2, "|", color=color, markersize=6, zorder=3)
        fill = "white" if line.one_seed else color
        shape, label = "X" if line.no_verdict else "o", new_label(axis, line.legend_label)
        axis.plot(line.gain, above, shape, color=color, markersize=6, markerfacecolor=fill, zorder=4, label=label)
    if line.published is not None and _within(line.published, limits):
        label = new_label(axis, "published")
        axis.plot(line.published, below, "D", color=PUBLISHED, markersize=4, zorder=5, label=label)
    elif line.published is not None:
        left = _arrow(axis, line.published, below, limits, PUBLISHED)
        outside[left, below] = f"published {signed(line.published)}"
    if len(outside) == 2 and len({left for left, _ in outside}) == 1:  # one line of words for both
        outside = {next(iter(outside)): ", ".join(outside.values())}
    for (left, y), numbers in outside.items():
        _say(axis, numbers, y, limits, left)


def _within(value: float, limits: Limits) -> bool:
    return limits[0] <= value <= limits[1]


def _arrow(axis: Axes, value: float, y: float, limits: Limits, color: str) -> bool:
    """Draw a triangle that points beyond the axis; return whether it points to the left."""
    left = value < limits[0]
    axis.plot(_edge(limits, left)[0], y, "<" if left else ">", color=color, markersize=5, zorder=4)
    return left


def _say(axis: Axes, words: str, y: float, limits: Limits, left: bool) -> None:
    """Write words beside the arrow of a value beyond the axis."""
    edge, room = _edge(limits, left)
    x, side = (edge + 2 * room, "left") if left else (edge - 2 * room, "right")
    axis.text(x, y, words, color=NUMBER_COLOUR, fontsize=8, va="center", ha=side, zorder=6)


def _edge(limits: Limits, left: bool) -> tuple[float, float]:
    """Return the x of an arrow at the edge, and its distance from the edge."""
    room = 0.012 * (limits[1] - limits[0])
    return (limits[0] + room if left else limits[1] - room), room
