"""Means and spreads over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
"""Confidence at which a difference counts as shown; also that of intervals."""


@dataclass(frozen=True)
class Measured:
    """One figure over the seeds of one recipe. `std` is the sample standard deviation, None for one seed.

    `fixed`: every seed would give the same value, as for an encoder that is evaluated untrained.
    """

    mean: float
    std: float | None
    seeds: int
    fixed: bool = False

    @classmethod
    def of(cls, values: Sequence[float], fixed: bool = False) -> Measured | None:
        """Return the mean and the spread of the values; None without values."""
        if not values:
            return None
        mean = math.fsum(values) / len(values)
        if len(values) == 1 or fixed:
            return cls(mean, None, len(values), fixed)
        variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
        return cls(mean, math.sqrt(variance), len(values))
