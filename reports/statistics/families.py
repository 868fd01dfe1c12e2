"""Many rows at once: Holm's correction, the rows that may be the best, and ranks as intervals.

The best set and the ranks rest on one picture of how the rows' means may be wrong together: each trained row by a
Student's t of its own spread over seeds, and all rows on the same items by normal errors with the items' covariance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reports.statistics.comparison import wary_freedom
from reports.statistics.measured import CONFIDENCE
from reports.statistics.sample import Array, Sample

DRAWS = 4000
"""Simulated errors; the quantiles they give are right to about 0.3 points of confidence."""

NOTHING = 1e-7
"""Points; an interval is at least so wide, since smaller differences are rounding."""


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p-values in the order given. None stays None and does not count."""
    order = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, index) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - rank)))
        adjusted[index] = largest
    return adjusted


def best_set(samples: Sequence[Sample], looks: float = 1.0) -> list[bool | None]:
    """Whether each row may be the best: the set holds the best row with 95 % confidence (Hsu's comparisons).

    A row is out if some other row is better than it by more than chance makes of so many. None for a row that cannot
    be judged: trained under one seed. `looks` as in `Comparison`, here and in `rank_intervals`.
    """
    judged = [index for index, sample in enumerate(samples) if can_be_judged(sample)]
    answer: list[bool | None] = [None] * len(samples)
    if judged:
        field = Field.of([samples[index] for index in judged])
        for place, index in enumerate(judged):
            bar = np.quantile(field.leads(field.errors, place).max(axis=1), 1 - (1 - CONFIDENCE) / looks)
            answer[index] = bool(field.leads(field.means, place).max() <= bar)
    return answer


def rank_intervals(samples: Sequence[Sample], looks: float = 1.0) -> list[tuple[int, int] | None]:
    """The best and the worst rank (1 is the highest mean) that each row may have, at 95 % for all rows at once.

    None for a row that cannot be judged; ranks are then those among the others.
    """
    judged = [index for index, sample in enumerate(samples) if can_be_judged(sample)]
    answer: list[tuple[int, int] | None] = [None] * len(samples)
    if not judged:
        return answer
    field = Field.of([samples[index] for index in judged])
    largest = np.zeros(DRAWS)
    for place in range(len(judged)):
        largest = np.maximum(largest, np.abs(field.leads(field.errors, place)).max(axis=1))
    bar = np.quantile(largest, 1 - (1 - CONFIDENCE) / looks)
    for place, index in enumerate(judged):
        leads = field.leads(field.means, place)
        answer[index] = (1 + int((leads > bar).sum()), len(judged) - int((leads < -bar).sum()))
    return answer


def can_be_judged(sample: Sample) -> bool:
    """Whether something can be said about the recipe: it has seeds, or needs none and has items."""
    return sample.effects is not None if sample.fixed else sample.count > 1


@dataclass(frozen=True, eq=False)
class Field:
    """Rows with their means, and how wrong all of them may be together."""

    means: Array  # (rows,)
    errors: Array  # (draws, rows) simulated
    widths: Array  # (rows, rows) half the interval of each pair's difference, at a level that many pairs ask for

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Field:
        """Deterministic: the same samples give the same draws."""
        from scipy.special import stdtrit

        rows = len(samples)
        seeds = np.array([0.0 if sample.std is None else sample.std**2 / sample.count for sample in samples])
        freedom = np.array([max(sample.count - 1, 1) for sample in samples])
        shared = np.array([sample.interaction for sample in samples])
        covariance, on_same = items_covariance(samples)

        random = np.random.default_rng(0)
        root = roots(covariance - np.diag(np.minimum(shared, np.diag(covariance))))
        errors = random.standard_normal((DRAWS, rows)) @ root
        for row in np.flatnonzero(seeds):
            errors[:, row] += random.standard_t(freedom[row], DRAWS) * math.sqrt(seeds[row])

        own = np.diag(covariance)
        over_items = np.where(on_same, np.maximum(own[:, None] + own - 2 * covariance, 0.0), 0.0)
        over_seeds = seeds[:, None] + seeds
        both = over_seeds + over_items - np.where(on_same, shared[:, None] + shared, 0.0)
        variance = np.maximum(both, np.maximum(over_seeds, over_items))
        parts = [np.broadcast_to(seeds[:, None], variance.shape), np.broadcast_to(seeds, variance.shape)]
        degrees = wary_freedom(variance, parts, [freedom[:, None], freedom])
        widths = np.sqrt(variance) * stdtrit(degrees, 1 - (1 - CONFIDENCE) / (2 * rows))
        return cls(np.array([sample.mean for sample in samples]), errors, np.maximum(widths, NOTHING))

    def leads(self, values: Array, place: int) -> Array:
        """(..., rows) Leads over the row at `place`, each in units of its own interval, so that unlike ones compare."""
        return np.asarray((values - values[..., [place]]) / self.widths[place])


def items_covariance(samples: Sequence[Sample]) -> tuple[Array, Array]:
    """(rows, rows) Of the means over test items, and whether each pair was scored on the same items.

    Rows on other items, or without predictions, share nothing and get zero.
    """
    covariance = np.zeros((len(samples), len(samples)))
    on_same = np.zeros(covariance.shape, dtype=bool)
    for name in {sample.items for sample in samples if sample.items and sample.effects is not None}:
        rows = [row for row, sample in enumerate(samples) if sample.items == name and sample.effects is not None]
        effects = np.stack([np.asarray(samples[row].effect) for row in rows])
        covariance[np.ix_(rows, rows)] = effects @ effects.T
        on_same[np.ix_(rows, rows)] = True
    return covariance, on_same


def roots(covariance: Array) -> Array:
    """(rows, rows) A matrix R with R'R = covariance; what is below zero in it by chance counts as zero."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
