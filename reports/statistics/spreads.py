"""How far scores scatter over seeds: a recipe's own spread, and what the others' spreads say about it.

Two or three seeds tell a spread badly. Each is drawn towards what is common to all recipes, as far as all together are
no more unequal than chance makes them (Smyth 2004); a few recipes say little of that, so the common spread never counts
for more degrees of freedom than there are recipes beyond two. In the finals of a search, where spreads that differ
tenfold must not mislead, each recipe of four seeds or more stands on its own, and to fewer a spread is lent
(`finals.lent_spread`), beside which their own counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reports.statistics.sample import Sample
from reports.statistics.true_scores import common_variance

FEWEST = 3
"""Fewer recipes have nothing in common that could be told."""
FEW_SEEDS = 3
"""Of so many at most, a recipe's own spread says hardly anything."""


@dataclass(frozen=True)
class Common:
    """The variance over seeds that is common to recipes, and how many degrees of freedom it counts for."""

    variance: float
    freedom: float
    lent: bool = False
    """Whether it counts only for recipes of at most three seeds, while all others stand on their own spread."""

    def with_own(self, variance: Any, freedom: Any, seeds: int = 1) -> tuple[Any, Any]:
        """A recipe's own variance of a mean over `seeds`, drawn to the common one; with its degrees of freedom."""
        total = self.freedom + freedom
        return (self.freedom * self.variance / seeds + freedom * variance) / total, total


ALONE = Common(0.0, 0.0)
"""Nothing is common: each spread stands for itself."""
OWN = Common(0.0, 0.0, lent=True)
"""Nothing is lent, either."""


def common_spread(samples: Iterable[Sample]) -> Common:
    """Of the samples that have two seeds, copies once; `ALONE` where they are too few, or do not scatter at all."""
    several = [*{sample.values.tobytes(): sample for sample in samples if sample.std is not None}.values()]
    variances = np.array([(sample.std or 0.0) ** 2 for sample in several])
    if len(several) < FEWEST or np.median(variances) == 0:
        return ALONE
    freedom = np.array([sample.count - 1.0 for sample in several])
    variance, weight = common_variance(variances, freedom)
    return Common(variance, min(weight, len(several) - 2.0))
