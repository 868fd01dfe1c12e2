"""The wording of a gain in an answer, and of the reference it is over."""

from __future__ import annotations

from reports.facts.answer import Answer
from reports.facts.gain import Gain
from reports.words.comparisons import interval, level

REFERENCE_NAMES = {"base": "the base settings", "encoder": "the original encoder", "baseline": "the baseline row"}
MAX_NAMED = 3
"""Largest number of rows or tasks that are named; more are only counted."""


def level_in_words(figure: Gain | None) -> str:
    """Return a figure with its interval, `74.20 [73.91, 74.49]`; with `[unknown]` if it has none."""
    if figure is None:
        return "unknown"
    return level(figure) + " [unknown]" * (figure.low is None)


def points(gain: Gain) -> str:
    """Return a gain with its interval, `+1.21 [+0.80, +1.62]`; with `[unknown]` if it has none."""
    return interval(gain) + " [unknown]" * (gain.low is None)


def gain_over(gain: Gain, name: str, answer: Answer | None = None) -> str:
    """Return `+1.21 [+0.80, +1.62] over the base settings`: a gain over the reference `name`.

    If `answer` is given, the reference `baseline` is called by the name of its row.
    """
    return f"{points(gain)} over {reference(answer, name) if answer else REFERENCE_NAMES[name]}"


def reference(answer: Answer, name: str) -> str:
    """Return the words for a reference that finalists are compared with; a baseline is called by its row's name."""
    row = answer.references.get(name) if name == "baseline" else None
    return row.name if row else REFERENCE_NAMES[name]
