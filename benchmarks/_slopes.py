"""How much something grows with the trials of a study, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

PER = 1000
"""Slopes are per so many trials."""
BLOCKS = 12
"""A series is averaged in so many parts one after the other. Memory of a process stays for a while where it is, so that
single readings tell less than their number says; means of parts are nearly independent."""
LEAST_FREEDOM = 3
"""Of fewer degrees of freedom nothing is said."""
Series = Sequence[tuple[float, float]]
"""Trials until then, and a value."""


@dataclass(frozen=True)
class Slope:
    """Growth per 1,000 trials, with a 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.2f} ({self.low:+.2f} to {self.high:+.2f})"


def slope(series: Sequence[Series]) -> Slope | None:
    """Of several processes together: one slope, and a level for each, so that one that ends and one that begins in its
    place are no growth. None where there is too little to tell."""
    means = [_blocks(one) for one in series if len(one) > 1]
    freedom = sum(map(len, means)) - len(means) - 1
    if not means or freedom < LEAST_FREEDOM:
        return None
    trials, values = (np.concatenate([one[:, at] - one[:, at].mean() for one in means]) for at in (0, 1))
    spread = float((trials**2).sum())
    if not spread:
        return None
    each = float((trials * values).sum()) / spread
    error = float(np.sqrt(((values - each * trials) ** 2).sum() / freedom / spread))
    reach = float(stats.t.ppf(0.975, freedom)) * error
    return Slope(PER * each, PER * (each - reach), PER * (each + reach))


def _blocks(series: Series) -> np.ndarray:  # (blocks, 2)
    parts = np.array_split(np.array(series, dtype=float), min(BLOCKS, len(series)))
    return np.array([part.mean(axis=0) for part in parts])
