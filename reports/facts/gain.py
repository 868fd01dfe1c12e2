"""A gain in points, with its interval."""

from __future__ import annotations

from dataclasses import dataclass

from reports.facts.quantity import Quantity
from reports.statistics import Comparison, Sample
from reports.statistics.comparison import by_itself
from reports.statistics.spreads import NO_COMMON_SPREAD, CommonSpread


@dataclass(frozen=True)
class Gain:
    """A gain in points, with its interval; unknown ends are None."""

    gain: float
    low: float | None
    high: float | None

    @property
    def above(self) -> bool:
        """Whether the gain is shown to be above zero."""
        return self.low is not None and self.low > 0

    @property
    def below(self) -> bool:
        """Whether the gain is shown to be below zero."""
        return self.high is not None and self.high < 0

    @classmethod
    def of(cls, comparison: Comparison) -> Gain:
        """Return the gain of a comparison."""
        return cls(comparison.gain, comparison.low, comparison.high)

    @classmethod
    def level(cls, sample: Sample, figure: Quantity, common: CommonSpread = NO_COMMON_SPREAD) -> Gain:
        """Return a figure as a `Gain` with its own interval, which is cut off at the ends of the figure's range."""
        alone, (least, most) = by_itself(sample, common), figure.ends
        low, high = (None if end is None else min(max(end, least), most) for end in (alone.low, alone.high))
        return cls(alone.gain, low, high)
