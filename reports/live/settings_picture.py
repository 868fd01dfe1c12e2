"""Recipes as lines over parallel axes, as inline SVG: an axis for each setting that differs, and the last for the
score. A line's CSS class says which fifth of the recipes, by score, it belongs to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from reports.facts.recipe_names import short
from reports.live.folder import ScoredRecipe
from reports.live.picture import HEIGHT, WIDTH, svg
from reports.words.markdown import DASH, number
from trainables.evaluation_config import all_keys
from trainables.recipe import Value

MAX_AXES = 7
FIFTHS = 5
SIDE, TOP, BOTTOM = 64, 44, 40
ABSENT = HEIGHT - 12
"""Height at which a line passes the axis of a setting that its recipe does not have."""
MAX_LABELS, LABEL_DISTANCE = 6, 16
"""An axis of at most `MAX_LABELS` values labels all that are `LABEL_DISTANCE` apart; any other axis labels its ends."""
LOGARITHMIC = 10.0
"""An axis of positive numbers is logarithmic if the largest is at least this many times the smallest."""


@dataclass(frozen=True)
class SettingAxis:
    """The vertical axis of one setting. Numbers are placed by size, upwards; words at equal distances."""

    label: str
    x: float
    values: tuple[Value, ...]
    """The setting's values without copies, sorted."""
    everywhere: bool = True
    """Whether all recipes have the setting."""

    @classmethod
    def of(cls, label: str, x: float, values: Sequence[Value], recipes: int) -> SettingAxis:
        numbers = {value for value in values if _numbers([value])}
        words = {value for value in values if not _numbers([value])}
        ordered = (*sorted(numbers), *sorted(words, key=short))  # type: ignore[type-var]
        return cls(label, x, ordered, len(values) == recipes)

    def y(self, value: Value) -> float:
        """Return the height of a value on the axis."""
        ends = (self.values[0], value, self.values[-1])
        if _numbers(self.values):
            numbers = [float(end) for end in ends]  # type: ignore[arg-type]
            if numbers[0] > 0 and numbers[2] >= LOGARITHMIC * numbers[0]:
                numbers = [math.log(each) for each in numbers]
        else:
            numbers = [float(self.values.index(end)) for end in ends]
        low, own, high = numbers
        share = (own - low) / (high - low) if high > low else 0.5
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    def svg(self, row: int) -> Iterator[str]:
        """Yield the axis as SVG. `row`: the text row for the axis's label, so that neighbouring labels do not touch."""
        yield f'<line class="grid" x1="{self.x:.0f}" x2="{self.x:.0f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        yield f'<text class="middle" x="{self.x:.0f}" y="{13 + 15 * row}">{escape(self.label)}</text>'
        ends = [self.values[0], self.values[-1]]
        within = self.values[1:-1] if len(self.values) <= MAX_LABELS else ()
        heights = [self.y(value) for value in ends]
        for value in within:  # values that would touch others get no label
            if all(abs(self.y(value) - height) >= LABEL_DISTANCE for height in heights):
                ends.append(value)
                heights.append(self.y(value))
        for value in dict.fromkeys(ends):
            words = escape(short(value))
            yield f'<text class="end value" x="{self.x - 5:.0f}" y="{self.y(value) + 4:.1f}">{words}</text>'
        if not self.everywhere:
            yield f'<text class="end value" x="{self.x - 5:.0f}" y="{ABSENT + 4}">{DASH}</text>'


def settings_picture(lines: Sequence[ScoredRecipe], lower_is_better: bool) -> str:
    """Draw these recipes as lines over their settings and their first score; empty if no setting differs."""
    by_key: dict[str, list[Value]] = {}
    for line in lines:
        for key, value in line.settings.items():
            by_key.setdefault(key, []).append(value)
    differing = [key for key, values in by_key.items() if len({*values}) > 1][:MAX_AXES]
    if not differing:
        return ""
    spacing = (WIDTH - 2 * SIDE) / len(differing)
    axes = {
        key: SettingAxis.of(all_keys()[key].label.partition(" (")[0], SIDE + spacing * index, by_key[key], len(lines))
        for index, key in enumerate(differing)
    }
    last = SettingAxis.of("score", WIDTH - SIDE, [line.scores[0] for line in lines], len(lines))
    order = sorted((line.scores[0] for line in lines), reverse=lower_is_better)
    parts = []
    for line in sorted(lines, key=lambda line: order.index(line.scores[0])):  # the best is on top
        has = line.settings
        ends = [(axis.x, axis.y(has[key]) if key in has else ABSENT) for key, axis in axes.items()]
        points = " ".join(f"{x:.0f},{y:.1f}" for x, y in [*ends, (last.x, last.y(line.scores[0]))])
        fifth = FIFTHS * order.index(line.scores[0]) // len(order)
        parts.append(
            f'<polyline class="recipe f{fifth}" data-name="{escape(line.name)}" points="{points}">'
            f"<title>{escape(line.name)}: {number(line.scores[0])}</title></polyline>"
        )
    parts += [part for row, axis in enumerate([*axes.values(), last]) for part in axis.svg(row % 2)]  # above the lines
    return svg(parts, f"{len(lines)} recipes: their settings and their development scores")


def _numbers(values: Sequence[Value]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
