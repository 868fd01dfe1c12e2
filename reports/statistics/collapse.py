"""Seeds under which a training collapsed.

A recipe that fails under one seed of ten looks sound in most small studies, so a few seeds cannot estimate the mean
over all seeds. Verdicts are about the mean without collapsed seeds; reports print the number of collapses, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.statistics.measured import CONFIDENCE
from reports.statistics.sample import Array

MIN_KEPT_SHARE, MIN_FALL = 0.5, 10.0
"""A trial collapsed if its score above chance is less than `MIN_KEPT_SHARE` times that of its recipe's best seed, and
is at least `MIN_FALL` points below it. Sound seeds differ by a few points."""


def collapsed(values: Any, chance: float) -> Array:
    """(seeds,) Whether each score of one recipe is a collapse. If the best seed is at chance, too, no score is one."""
    above = np.asarray(values, dtype=float) - chance
    best = float(above.max())
    return np.asarray((above < MIN_KEPT_SHARE * best) & (above <= best - MIN_FALL))


def rate_interval(collapses: int, seeds: int) -> tuple[float, float]:
    """Return the 95 % interval of the share of seeds under which a recipe collapses (Clopper and Pearson 1934)."""
    from scipy.stats import binomtest

    interval = binomtest(collapses, seeds).proportion_ci(CONFIDENCE, method="exact")
    return float(interval.low), float(interval.high)
