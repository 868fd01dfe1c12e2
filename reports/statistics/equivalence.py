"""Tests whether a gain is within bounds: "no effect", "not better", "about 1 point". No shown difference is no
equality.

Two one-sided tests (TOST, Schuirmann 1987): equal within a margin is shown only if both a larger gain and a smaller one
are ruled out.
"""

from __future__ import annotations

from reports.statistics.comparison import Comparison


def p_below(comparison: Comparison, bound: float) -> float | None:
    """Return the one-sided p for the claim that the gain is below `bound` points; None if recipes cannot be judged."""
    return _one_sided(comparison, bound - comparison.gain)


def p_above(comparison: Comparison, bound: float) -> float | None:
    """Return the one-sided p for the claim that the gain is above `bound` points; None if recipes cannot be judged."""
    return _one_sided(comparison, comparison.gain - bound)


def tost(comparison: Comparison, margin: float, around: float = 0.0) -> float | None:
    """Return p for the claim that the gain is within `margin` points of `around`. None if recipes cannot be judged.

    At 5 % this is the same as a 90 % interval inside the margin.
    """
    if margin <= 0:
        raise ValueError(f"a margin of {margin} points leaves no room; it must be above 0")
    sides = p_below(comparison, around + margin), p_above(comparison, around - margin)
    return None if sides[0] is None or sides[1] is None else max(sides[0], sides[1])


def _one_sided(comparison: Comparison, lead: float) -> float | None:
    if comparison.p is None or comparison.error is None:
        return None
    both = comparison.error.p_value(lead)
    return min(1.0, comparison.p_factor * (both / 2 if lead > 0 else 1 - both / 2))
