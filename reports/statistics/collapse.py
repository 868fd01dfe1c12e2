"""Seeds under which a training collapsed.

A recipe that fails in one seed of ten looks sound in most small studies, so no study of a few seeds can answer for the
mean over all seeds. What is judged is the mean given no collapse, and how often the recipe collapses is said beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.statistics.measured import CONFIDENCE
from reports.statistics.sample import Array

KEEPS, FALLS = 0.5, 10.0
"""A trial collapsed if it keeps less than this share of what its recipe's best seed has above chance, and lies at least
so many points below it. Sound seeds differ by a few points."""


def collapsed(values: Any, chance: float) -> Array:
    """(seeds,) Whether each score of one recipe is that of a collapse; none where the best seed is at chance, too."""
    above = np.asarray(values, dtype=float) - chance
    best = float(above.max())
    return np.asarray((above < KEEPS * best) & (above <= best - FALLS))


def rate_interval(collapses: int, seeds: int) -> tuple[float, float]:
    """Of the share of seeds under which a recipe collapses, at 95 % (Clopper and Pearson 1934)."""
    from scipy.stats import binomtest

    interval = binomtest(collapses, seeds).proportion_ci(CONFIDENCE, method="exact")
    return float(interval.low), float(interval.high)
