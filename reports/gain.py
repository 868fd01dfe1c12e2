"""A gain in points, with its interval."""

from __future__ import annotations

from dataclasses import dataclass

from reports.statistics import Comparison


@dataclass(frozen=True)
class Gain:
    """In points, with its interval; None where that is not known."""

    gain: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, comparison: Comparison) -> Gain:
        """Of a comparison."""
        return cls(comparison.gain, comparison.low, comparison.high)
