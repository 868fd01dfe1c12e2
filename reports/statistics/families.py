"""Statistics of many rows at once: Holm's correction, the rows that may be the best, and intervals of ranks.

The best set and the ranks use the same leads as verdicts: the p of each pair of rows (`compare`), as a normal score.
The dependence between leads is simulated: normal errors with the seeds' variances and the items' covariance.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from reports.statistics.comparison import SMALLEST, compare
from reports.statistics.measured import CONFIDENCE
from reports.statistics.sample import Array, Sample
from reports.statistics.spreads import NO_COMMON_SPREAD, CommonSpread

DRAWS = 4000
"""Number of simulated errors. Their quantiles are exact to about 0.3 points of confidence."""
FIRST_STEP = 0.1
"""Share of the error level for finding rows that are surely below the judged row, which they cannot beat by chance."""
MIN_ERROR = 1e-7
"""Smallest standard error of a difference, in points: smaller errors are rounding and are raised to it."""


def holm(p_values: Sequence[float | None], tests: Sequence[Hashable] | None = None) -> list[float | None]:
    """Return Holm's adjusted p-values in the order given. None stays None and does not count.

    `tests` names the test of each p. Entries with the same name are one test, with the largest p among them.
    """
    names = list(range(len(p_values)) if tests is None else tests)
    once: dict[Hashable, float] = {}
    for name, p in zip(names, p_values, strict=True):
        if p is not None:
            once[name] = max(p, once.get(name, 0.0))
    adjusted: dict[Hashable, float] = {}
    largest = 0.0
    for rank, (name, p) in enumerate(sorted(once.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, p * (len(once) - rank)))
        adjusted[name] = largest
    return [None if p is None else adjusted[name] for name, p in zip(names, p_values, strict=True)]


def best_set(field: Field, p_factor: float = 1.0) -> list[bool | None]:
    """Return for each row whether it may be the best. The set contains the best row with 95 % confidence.

    A row is out if another row leads it by more than chance explains among this many rows. Rows that are surely worse
    than the judged row are not counted (two steps: Romano, Shaikh and Wolf 2014). None for a row that cannot be judged,
    as it has one seed only. `p_factor` as in `Comparison`, here and in `rank_intervals`.
    """
    answer: list[bool | None] = [None] * field.rows
    level = (1 - CONFIDENCE) / p_factor
    for position, index in enumerate(field.judged):
        above_others = field.by_chance(position)
        others = np.arange(len(field.judged)) != position
        if others.any():
            sure = np.quantile(above_others[:, others].max(axis=1), 1 - FIRST_STEP * level)
            others &= field.leads[position] <= sure
        answer[index] = True
        if others.any():
            bar = np.quantile(-above_others[:, others].min(axis=1), 1 - (1 - FIRST_STEP) * level)
            answer[index] = bool(field.leads[others, position].max() <= bar)
    return answer


def rank_intervals(field: Field, p_factor: float = 1.0) -> list[tuple[int, int] | None]:
    """Return the best and the worst rank (1 is the highest mean) that each row may have, at 95 % for all rows at once.

    In steps (Mogstad, Romano, Shaikh and Wilhelm 2024): shown leads are no longer among the leads that chance could
    have made, so the bar for the rest falls. None for a row that cannot be judged; such rows have no part in the ranks.
    """
    answer: list[tuple[int, int] | None] = [None] * field.rows
    shown = _leads_shown(field, (1 - CONFIDENCE) / p_factor)
    for position, index in enumerate(field.judged):
        answer[index] = (1 + int(shown[:, position].sum()), len(field.judged) - int(shown[position].sum()))
    return answer


def _leads_shown(field: Field, level: float) -> Array:
    """(judged, judged) Whether the first row is shown to lead the second; `level` bounds the chance of any error."""
    rows = len(field.leads)
    is_open = ~np.eye(rows, dtype=bool)
    while is_open.any():
        largest = np.full(DRAWS, -np.inf)
        for row in range(rows):
            largest = np.maximum(largest, field.by_chance(row)[:, is_open[row]].max(axis=1, initial=-np.inf))
        shown = is_open & (field.leads > np.quantile(largest, 1 - level))
        if not shown.any():
            break
        is_open &= ~shown
    return np.asarray(~is_open & ~np.eye(rows, dtype=bool))


def can_be_judged(sample: Sample) -> bool:
    """Whether a recipe can be judged: a trained recipe needs two seeds, a fixed one the effects of test items."""
    return sample.effects is not None if sample.fixed else sample.count > 1


@dataclass(frozen=True, eq=False)
class Field:
    """The lead of each row over each other row, and the leads that chance may give to all rows together. Arrays contain
    only the rows that can be judged, in the rows' order."""

    rows: int
    """Number of all rows, including those that cannot be judged."""
    judged: tuple[int, ...]
    """Indices of the rows that can be judged."""
    leads: Array  # (judged, judged) lead of the first over the second, as normal scores; 0: unknown
    errors: Array  # (draws, judged) simulated
    scale: Array  # (judged, judged) the standard deviation of the difference of two simulated errors

    @classmethod
    def of(cls, every: Sequence[Sample], common: CommonSpread = NO_COMMON_SPREAD) -> Field:
        """Compute the leads and simulate the errors. Equal samples give equal draws. `common` as in `compare`."""
        from scipy.special import ndtri

        judged = tuple(index for index, sample in enumerate(every) if can_be_judged(sample))
        samples = [every[index] for index in judged]
        rows = len(samples)
        leads = np.zeros((rows, rows))
        for first, second in itertools.combinations(range(rows), 2):
            comparison = compare(samples[first], samples[second], common=common, between_rows=True)
            if comparison.p is not None:
                leads[first, second] = -np.sign(comparison.gain) * ndtri(max(comparison.p, SMALLEST) / 2)
                leads[second, first] = -leads[first, second]
        seeds = np.array([0.0 if sample.std is None else sample.std**2 / sample.count for sample in samples])
        shared = np.array([sample.interaction for sample in samples])
        covariance = items_covariance(samples)
        own = np.diag(covariance)
        joint = covariance - np.diag(np.minimum(shared, own)) + np.diag(seeds)
        errors = np.random.default_rng(0).standard_normal((DRAWS, rows)) @ roots(joint)
        alone = np.diag(joint)
        scale = np.sqrt(np.maximum(alone[:, None] + alone - 2 * joint, 0.0))
        return cls(len(every), judged, leads, errors, np.maximum(scale, MIN_ERROR))

    def by_chance(self, position: int) -> Array:
        """(draws, judged) Simulated leads by chance of one row over each row. `position`: the row's, in `judged`."""
        return np.asarray((self.errors[:, [position]] - self.errors) / self.scale[position])


def items_covariance(samples: Sequence[Sample]) -> Array:
    """(rows, rows) Covariance of the rows' means over test items; zero for rows without predictions."""
    covariance = np.zeros((len(samples), len(samples)))
    for name in {sample.items for sample in samples if sample.items and sample.effects is not None}:
        rows = [row for row, sample in enumerate(samples) if sample.items == name and sample.effects is not None]
        effects = np.stack([np.asarray(samples[row].effect) for row in rows])
        covariance[np.ix_(rows, rows)] = effects @ effects.T
    return covariance


def roots(covariance: Array) -> Array:
    """(rows, rows) A matrix R with R'R = covariance. Negative eigenvalues, which come from chance, count as zero."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
