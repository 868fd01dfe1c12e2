"""What repeats of a search add up to: intervals, and which of several searches may be called the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A number and the ends of its 95 % interval; NaN ends where there is only one repeat."""

    value: float
    low: float
    high: float


def mean(values: Sequence[float] | np.ndarray, confidence: float = CONFIDENCE) -> Interval:
    """Over repeats, by Student's t."""
    from scipy.special import stdtrit

    array = np.asarray(values, dtype=float)
    count, middle = len(array), float(np.mean(array))
    if count < 2:
        return Interval(middle, math.nan, math.nan)
    width = float(stdtrit(count - 1, (1 + confidence) / 2)) * float(array.std(ddof=1)) / math.sqrt(count)
    return Interval(middle, middle - width, middle + width)


def share(hits: int, count: int) -> Interval:
    """Of repeats, by Wilson's interval."""
    from scipy.special import ndtri

    z = float(ndtri((1 + CONFIDENCE) / 2))
    part = hits / count
    middle = (part + z * z / (2 * count)) / (1 + z * z / count)
    width = z / (1 + z * z / count) * math.sqrt(part * (1 - part) / count + z * z / (4 * count * count))
    return Interval(part, max(0.0, middle - width), min(1.0, middle + width))


@dataclass(frozen=True)
class Choice:
    """The search whose mean is best, and who may be as good."""

    best: str
    differences: Mapping[str, Interval]
    """How much each other one is worse than the best, over repeats under equal seeds, in the unit of the values; the
    intervals hold for all pairs of searches at once."""

    @property
    def worse(self) -> list[str]:
        """Those that are surely worse than the best."""
        return [name for name, difference in self.differences.items() if difference.low > 0]

    @property
    def same(self) -> list[str]:
        """Those that found exactly as much, on average and in each repeat."""
        return [name for name, difference in self.differences.items() if difference.low == difference.high == 0]

    @property
    def alike(self) -> list[str]:
        """Those that cannot be told apart from the best by these repeats."""
        return [name for name in self.differences if name not in self.worse and name not in self.same]


def choose(values: Mapping[str, Sequence[float]], *, low: bool) -> Choice:
    """Compare searches over the same repeats. `low`: whether the lower values are the better ones.

    The best is chosen by the same repeats that compare it, so the intervals are as wide as for all pairs (Bonferroni).
    """
    sign = 1.0 if low else -1.0
    arrays = {name: sign * np.asarray(found, dtype=float) for name, found in values.items()}
    best = min(arrays, key=lambda name: float(arrays[name].mean()))
    pairs = len(arrays) * (len(arrays) - 1) // 2
    confidence = 1 - (1 - CONFIDENCE) / max(pairs, 1)
    others = sorted((name for name in arrays if name != best), key=lambda name: float(arrays[name].mean()))
    return Choice(best, {name: mean(arrays[name] - arrays[best], confidence) for name in others})
