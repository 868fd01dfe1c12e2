"""Decides whether rows are compared seed by seed.

A seed decides the order of the data and the initial weights of new layers. If seeds move the scores of all rows alike,
the differences seed by seed vary less than the scores. Often they do not; then pairing only costs degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reports.statistics.comparison import by_seed, compare
from reports.statistics.sample import Sample
from reports.statistics.spreads import common_spread

PERMUTATIONS = 2000
SURE = 0.01
"""Error level of the permutation test for a seed effect. Pairing without a real effect costs only precision."""


def same_seeds(first: Sample, second: Sample) -> bool:
    """Whether two trained samples can be paired seed by seed."""
    trained = not first.fixed and not second.fixed
    return trained and first.count > 1 and sorted(first.seeds) == sorted(second.seeds)


def pair_by_seed(baseline: Sample, rows: Sequence[Sample]) -> bool:
    """Whether rows with the baseline's seeds are compared with the baseline seed by seed; one decision for all rows.

    Two conditions: seeds move the rows together (a permutation test at 1 %, exact whatever the rows' spreads), and
    pairing shortens the intervals on average.
    """
    alike = [row for row in rows if same_seeds(baseline, row)]
    if not alike or seed_effect_p([baseline, *alike]) > SURE:
        return False
    common = common_spread([baseline, *alike])

    def mean_width(paired: bool) -> float:
        comparisons = [compare(row, baseline, common=common, paired=paired) for row in alike]
        return float(np.mean([0.0 if item.error is None else item.error.half_width() for item in comparisons]))

    return mean_width(paired=True) < mean_width(paired=False)


def seed_effect_p(samples: Sequence[Sample]) -> float:
    """Return p of the hypothesis that seeds do not move rows together. All rows have equal seeds; each row is shuffled.

    The statistic is the variance of the seeds' means over rows. Each row is divided by its own standard deviation.
    """
    rows = np.stack([by_seed(sample) for sample in samples])
    rows = rows[np.ptp(rows, axis=1) > 0]
    if len(rows) < 2:
        return 1.0
    rows = (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)
    random = np.random.default_rng(0)
    shuffled = random.permuted(np.broadcast_to(rows, (PERMUTATIONS, *rows.shape)), axis=2)
    by_chance = shuffled.sum(axis=1).var(axis=1)
    variance = rows.sum(axis=0).var()
    return float((1 + (by_chance >= variance - 1e-9).sum()) / (1 + PERMUTATIONS))
