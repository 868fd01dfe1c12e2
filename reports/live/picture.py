"""Loss curves as inline SVG. Colours are classes: the page's style decides them, for light and dark."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

from reports.ledger import Curve

COLOURS = 8
WIDTH, HEIGHT = 720, 280
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 40
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


def loss_picture(running: Mapping[str, Curve], others: Sequence[Curve], of_colour: Mapping[str, str]) -> str:
    """The losses of running trials in colour over those of ended ones in grey; empty where there is no point."""
    drawn = [*others, *running.values()]
    points = [point for curve in drawn for point in curve.points]
    if not points:
        return ""
    last_step = max(max(curve.steps for curve in drawn), max(step for step, _ in points))
    low, high = min(loss for _, loss in points), max(loss for _, loss in points)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5

    def x(step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * step / last_step

    def y(loss: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - loss) / (high - low)

    parts = []
    for mark in marks(low, high):
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(mark):.1f}" y2="{y(mark):.1f}"/>')
        parts.append(f'<text class="end" x="{LEFT - 8}" y="{y(mark) + 4:.1f}">{mark:g}</text>')
    for mark in marks(0, last_step):
        parts.append(f'<text class="middle" x="{x(mark):.1f}" y="{HEIGHT - BOTTOM + 18}">{mark:g}</text>')
    parts.append(f'<text class="middle" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 4}">step</text>')
    parts.append(f'<text x="2" y="{TOP + 2}">loss</text>')
    lines = [(curve, "ended") for curve in others] + [(curve, of_colour[key]) for key, curve in running.items()]
    for curve, name in lines:
        path = " ".join(f"{x(step):.1f},{y(loss):.1f}" for step, loss in curve.points)
        parts.append(f'<polyline class="curve {name}" points="{path}"/>')
    words = f"Loss by step: {len(running)} running trials in colour, {len(others)} ended trials in grey"
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">{"".join(parts)}</svg>'


def marks(low: float, high: float) -> list[float]:
    """Round numbers between the two, about `LABELLED` of them."""
    rough = (high - low) / LABELLED
    power = 10.0 ** _floor_log10(rough)
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first = -(-low // step)
    return [round((first + number) * step, 12) for number in range(int(high // step - first) + 1)]


def _floor_log10(value: float) -> int:
    return int(f"{value:e}".rpartition("e")[2])
