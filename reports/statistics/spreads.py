"""The spread of scores over seeds: a recipe's own spread, and the common spread of all recipes.

Two or three seeds estimate a spread badly. Each is shrunk towards the common spread, as far as all spreads together are
no more unequal than chance makes them (Smyth 2004). A few recipes estimate a common spread badly: it has at most as
many degrees of freedom as there are recipes beyond two. In the finals of a search, where spreads that differ tenfold
must not mislead, a recipe of four seeds or more uses its own spread. Recipes of fewer seeds borrow a spread
(`finals.borrowed_spread`), combined with their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reports.statistics.sample import Sample
from reports.statistics.true_scores import common_variance

MIN_RECIPES = 3
"""Smallest number of recipes for a common spread."""
FEW_SEEDS = 3
"""With at most this many seeds, a recipe's own spread is hardly informative."""


@dataclass(frozen=True)
class CommonSpread:
    """The variance over seeds that is common to recipes, and its degrees of freedom."""

    variance: float
    freedom: float
    for_few_seeds_only: bool = False
    """Whether the variance counts only for recipes of at most three seeds, while all others use their own spread."""

    def with_own(self, variance: Any, freedom: Any, seeds: int = 1) -> tuple[Any, Any]:
        """Return the variance of a recipe's mean over `seeds`, shrunk to the common one, and its degrees of freedom."""
        total = self.freedom + freedom
        return (self.freedom * self.variance / seeds + freedom * variance) / total, total


NO_COMMON_SPREAD = CommonSpread(0.0, 0.0)
"""No common spread: each recipe uses its own spread."""
NO_BORROWED_SPREAD = CommonSpread(0.0, 0.0, for_few_seeds_only=True)
"""No spread is assumed for recipes of few seeds: in finals, too, each recipe uses its own spread."""


def common_spread(samples: Iterable[Sample]) -> CommonSpread:
    """Return the common spread of samples with two or more seeds, of copies only one. `NO_COMMON_SPREAD` if samples are
    too few, or if the median variance is 0."""
    several = [*{sample.values.tobytes(): sample for sample in samples if sample.std is not None}.values()]
    variances = np.array([(sample.std or 0.0) ** 2 for sample in several])
    if len(several) < MIN_RECIPES or np.median(variances) == 0:
        return NO_COMMON_SPREAD
    freedom = np.array([sample.count - 1.0 for sample in several])
    variance, weight = common_variance(variances, freedom)
    return CommonSpread(variance, min(weight, len(several) - 2.0))
