"""Loss curves as inline SVG. Colours are classes: the page's style decides them, for light and dark."""

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
"""So much of what the values span is left free above and below them."""
LABELLED = 5
"""Steps between the marks of an axis, about."""


def colours(keys: Sequence[str]) -> dict[str, str]:
    """A class for each trial, `c0` to `c7`. It stays the same while others come and go, as far as there are enough."""
    taken: dict[str, str] = {}
    for key in keys:
        number = zlib.crc32(key.encode())
        free = [f"c{(number + shift) % COLOURS}" for shift in range(COLOURS)]
        taken[key] = next((name for name in free if name not in taken.values()), free[0])
    return taken


@dataclass(frozen=True)
class LiveAxes:
    """Two axes: from 0 to `last`, and from `low` to `high`."""

    last: float
    low: float
    high: float

    @classmethod
    def around(cls, last: float, values: Sequence[float]) -> LiveAxes:
        """With some room at both ends."""
        low, high = min(values), max(values)
        room = 0.5 if high - low < 1e-9 else ROOM * (high - low)
        return cls(last or 1.0, low - room, high + room)

    def x(self, value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * value / self.last

    def y(self, value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (self.high - value) / (self.high - self.low)

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        """Of a line's attribute `points`."""
        return " ".join(f"{self.x(first):.1f},{self.y(second):.1f}" for first, second in points)

    def level(self, name: str, value: float) -> str:
        """A line across."""
        at = f"{self.y(value):.1f}"
        return f'<line class="{name}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>'

    def axes(self, across: str) -> Iterator[str]:
        """Grid, numbers, and what is counted from left to right."""
        for mark in marks(self.low, self.high):
            yield self.level("grid", mark)
            yield f'<text class="end" x="{LEFT - 8}" y="{self.y(mark) + 4:.1f}">{mark:g}</text>'
        for mark in marks(0, self.last):
            side = "end" if mark > 0.95 * self.last else "middle"
            yield f'<text class="{side}" x="{self.x(mark):.1f}" y="{HEIGHT - BOTTOM + 18}">{mark:g}</text>'
        yield f'<text class="middle" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 4}">{across}</text>'


def svg(parts: Iterable[str], words: str) -> str:
    """`words`: what a reader hears who sees no picture."""
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">{"".join(parts)}</svg>'


def score_picture(tried: Sequence[tuple[float, float]], levels: Mapping[str, float], lower_is_better: bool) -> str:
    """What each recipe scored over the minutes at which it ended, the best so far, and what they are compared with as
    lines of the classes `levels`; empty where there is no recipe."""
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
    """The losses of running trials in colour over those of ended ones in grey; empty where no two points make a line.
    All are of one objective."""
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
    """Round numbers between the two, about `LABELLED` of them."""
    rough = (high - low) / LABELLED
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first = -(-low // step)
    return [round((first + number) * step, 12) for number in range(int(high // step - first) + 1)]
