"""Line pictures for the live page as inline SVG. Colours are CSS classes, which the page's style defines."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reports.ledger import Curve

COLOURS = 8
WIDTH, HEIGHT = 720, 280
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 40
ROOM = 0.04
"""Free space above and below the lines, as a share of the range of their values."""
AXIS_MARKS = 5
"""Approximate number of marks on an axis."""


def colours(keys: Sequence[str]) -> dict[str, str]:
    """Map each trial key to a CSS class for its colour, `c0` to `c7`. If possible, trials keep their class later."""
    taken: dict[str, str] = {}
    for key in keys:
        number = zlib.crc32(key.encode())
        free = [f"c{(number + shift) % COLOURS}" for shift in range(COLOURS)]
        taken[key] = next((name for name in free if name not in taken.values()), free[0])
    return taken


@dataclass(frozen=True)
class LiveAxes:
    """The axes of a picture: the horizontal one from 0 to `last`, the vertical one from `low` to `high`."""

    last: float
    low: float
    high: float

    @classmethod
    def around(cls, last: float, values: Sequence[float]) -> LiveAxes:
        """Return axes around these values, with some space above and below, and from 0 to `last`."""
        low, high = min(values), max(values)
        room = 0.5 if high - low < 1e-9 else ROOM * (high - low)
        return cls(last or 1.0, low - room, high + room)

    def x(self, value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * value / self.last

    def y(self, value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (self.high - value) / (self.high - self.low)

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        """Return these points as the SVG attribute `points` of a line."""
        return " ".join(f"{self.x(first):.1f},{self.y(second):.1f}" for first, second in points)

    def level(self, name: str, value: float) -> str:
        """Return a horizontal line at this value, as SVG. `name`: its CSS class."""
        at = f"{self.y(value):.1f}"
        return f'<line class="{name}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>'

    def axes(self, across: str) -> Iterator[str]:
        """Yield the grid, its numbers, and `across`, the name of the horizontal axis, as SVG."""
        for mark in marks(self.low, self.high):
            yield self.level("grid", mark)
            yield f'<text class="end" x="{LEFT - 8}" y="{self.y(mark) + 4:.1f}">{mark:g}</text>'
        for mark in marks(0, self.last):
            side = "end" if mark > 0.95 * self.last else "middle"
            yield f'<text class="{side}" x="{self.x(mark):.1f}" y="{HEIGHT - BOTTOM + 18}">{mark:g}</text>'
        yield f'<text class="middle" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 4}">{across}</text>'


def svg(parts: Iterable[str], words: str) -> str:
    """Return these parts in one SVG element. `words`: its description for screen readers."""
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">{"".join(parts)}</svg>'


def score_picture(tried: Sequence[tuple[float, float]], levels: Mapping[str, float], lower_is_better: bool) -> str:
    """Draw the scores in `tried`, pairs of minutes and score, and the best score so far; empty without scores.

    `levels` maps CSS classes to scores that are drawn as horizontal lines.
    """
    if not tried:
        return ""
    course = sorted(tried)
    frame = LiveAxes.around(course[-1][0], [*(score for _, score in course), *levels.values()])
    best, better = list[tuple[float, float]](), min if lower_is_better else max
    for minutes, score in course:
        reached = better(score, best[-1][1]) if best else score
        best += [*([(minutes, best[-1][1])] if best else []), (minutes, reached)]
    parts = [*frame.axes("minutes"), *(frame.level(name, value) for name, value in levels.items())]
    parts += [f'<circle class="tried" cx="{frame.x(at):.1f}" cy="{frame.y(score):.1f}" r="4"/>' for at, score in course]
    parts.append(f'<polyline class="best" points="{frame.path([*best, (frame.last, best[-1][1])])}"/>')
    return svg(parts, f"Development scores of {len(course)} recipes by the time at which they ended")


def loss_picture(running: Mapping[str, Curve], others: Sequence[Curve], of_colour: Mapping[str, str]) -> str:
    """Draw the losses of running trials in colour over those of ended trials in grey, all of one objective. Empty if no
    trial has two points."""
    drawn = [*others, *running.values()]
    points = [point for curve in drawn for point in curve.points]
    if all(len(curve.points) < 2 for curve in drawn):
        return ""
    last_step = max(max(curve.steps for curve in drawn), max(step for step, _ in points))
    frame = LiveAxes.around(last_step, [loss for _, loss in points])
    lines = [(curve, "ended") for curve in others] + [(curve, of_colour[key]) for key, curve in running.items()]
    paths = [f'<polyline class="curve {name}" points="{frame.path(curve.points)}"/>' for curve, name in lines]
    words = f"Loss by step: {len(running)} running trials in colour, {len(others)} ended trials in grey"
    return svg([*frame.axes("step"), *paths], words)


def marks(low: float, high: float) -> list[float]:
    """Return about `AXIS_MARKS` round numbers from `low` to `high`, for the marks of an axis."""
    rough = (high - low) / AXIS_MARKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first = -(-low // step)
    return [round((first + number) * step, 12) for number in range(int(high // step - first) + 1)]
