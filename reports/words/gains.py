"""How an answer writes a gain, and what it is over."""

from __future__ import annotations

from reports.facts.answer import Answer
from reports.facts.gain import Gain
from reports.words.comparisons import interval, level

OVER = {"base": "the base settings", "encoder": "the untrained encoder", "baseline": "the baseline row"}
FEW = 3
"""So many rows, or tasks, are named, more are counted."""


def level_in_words(figure: Gain | None) -> str:
    """`74.20 [73.91, 74.49]`."""
    if figure is None:
        return "unknown"
    return level(figure) + " [unknown]" * (figure.low is None)


def points(gain: Gain) -> str:
    """`+1.21 [+0.80, +1.62]`."""
    return interval(gain) + " [unknown]" * (gain.low is None)


def gain_over(gain: Gain, name: str, answer: Answer | None = None) -> str:
    """`+1.21 [+0.80, +1.62] over the base settings`; the baseline by its own name where the answer is given."""
    return f"{points(gain)} over {reference(answer, name) if answer else OVER[name]}"


def reference(answer: Answer, name: str) -> str:
    """What finalists are compared with; the baseline, a row of the space, by its own name."""
    row = answer.references.get(name) if name == "baseline" else None
    return row.name if row else OVER[name]
