"""Whether rows may be compared seed by seed.

A seed decides the order of the data and the first weights of whatever is freshly made. Where that moves all rows alike,
the differences seed by seed vary less than the rows do. It often does not; then pairing only costs degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reports.statistics.comparison import by_seed, compare
from reports.statistics.sample import Sample
from reports.statistics.spreads import common_spread

PERMUTATIONS = 2000
SURE = 0.01
"""Pairing by a seed effect that is not there would be wrong about nothing but precision; still it must be seen."""


def same_seeds(first: Sample, second: Sample) -> bool:
    """Whether two trained samples can be paired seed by seed."""
    trained = not first.fixed and not second.fixed
    return trained and first.count > 1 and sorted(first.seeds) == sorted(second.seeds)


def pair_by_seed(baseline: Sample, rows: Sequence[Sample]) -> bool:
    """Whether all rows with the baseline's seeds should be compared with it seed by seed; decided once for all.

    Two things must hold. Seeds move the rows together: a permutation test, exact whatever the rows' spreads, at 1 %.
    And the intervals get shorter by it on average.
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
    """The p that seeds do not move rows together: the same seeds in every row, shuffled within each row.

    The statistic is the spread of the seeds' means over rows, each row in units of its own spread.
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
