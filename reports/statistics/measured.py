"""Means and spreads over seeds, and how large a difference must be before it means something."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
"""How sure a difference must be to count as one."""


@dataclass(frozen=True)
class Measured:
    """One figure over the seeds of one recipe. `std` is the sample standard deviation, None for one seed.

    `fixed`: every seed would give the same, as for an encoder that is evaluated as it is.
    """

    mean: float
    std: float | None
    seeds: int
    fixed: bool = False

    @property
    def draws(self) -> float:
        """Of how many random draws it is the mean; infinitely many where chance plays no part."""
        return math.inf if self.fixed else self.seeds

    @classmethod
    def of(cls, values: Sequence[float], fixed: bool = False) -> Measured | None:
        """None where there are no values."""
        if not values:
            return None
        mean = math.fsum(values) / len(values)
        if len(values) == 1 or fixed:
            return cls(mean, None, len(values), fixed)
        variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
        return cls(mean, math.sqrt(variance), len(values))


@dataclass(frozen=True)
class Noise:
    """The spread between seeds, pooled over recipes: `std` with `freedom` degrees of freedom."""

    std: float
    freedom: int

    @classmethod
    def of(cls, measured: Iterable[Measured | None]) -> Noise | None:
        """None where no recipe has a second seed: the noise is then unknown, not zero."""
        several = [item for item in measured if item is not None and item.std is not None]
        freedom = sum(item.seeds - 1 for item in several)
        if not freedom:
            return None
        squares = math.fsum((item.seeds - 1) * (item.std or 0.0) ** 2 for item in several)
        return cls(math.sqrt(squares / freedom), freedom)

    def threshold(self, first: float, second: float, comparisons: int = 1) -> float:
        """The smallest difference of two means, over so many draws each, that is not within noise.

        Two-sided t interval at 95 %; Bonferroni's where one of so many `comparisons` is enough to say something.
        """
        from scipy.stats import t

        quantile = float(t.ppf(1 - (1 - CONFIDENCE) / (2 * comparisons), self.freedom))
        return quantile * self.std * math.sqrt(1 / first + 1 / second)


def same_order(pairs: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """Of all pairs of items, how many stand in the same order by both figures, and how many there are.

    Items that are equal by either figure have no order and are left out of both counts.
    """
    same = total = 0
    for index, (a, b) in enumerate(pairs):
        for c, d in pairs[index + 1 :]:
            if a != c and b != d:
                total += 1
                same += (a < c) == (b < d)
    return same, total
