"""Many rows at once: Holm's correction, the rows that may be the best, and ranks as intervals.

The best set and the ranks rest on one picture of how the rows' means may be wrong together: each trained row by a
Student's t of its own spread over seeds, and all rows on the same items by normal errors with the items' covariance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reports.statistics.comparison import compare
from reports.statistics.measured import CONFIDENCE
from reports.statistics.sample import Array, Sample, pairable

DRAWS = 4000
"""Simulated errors; the quantiles they give are right to about 0.3 points of confidence."""

NOTHING = 1e-7
"""Points below which a difference is rounding."""


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p-values in the order given. None stays None and does not count."""
    order = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, index) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - rank)))
        adjusted[index] = largest
    return adjusted


def best_set(samples: Sequence[Sample]) -> list[bool | None]:
    """Whether each row may be the best: the set holds the best row with 95 % confidence (Hsu's comparisons).

    A row is out if some other row is better than it by more than chance makes of so many. None for a row that cannot
    be judged: trained under one seed.
    """
    judged = [index for index, sample in enumerate(samples) if can_be_judged(sample)]
    answer: list[bool | None] = [None] * len(samples)
    if judged:
        field = Field.of([samples[index] for index in judged])
        for place, index in enumerate(judged):
            bars = np.quantile(field.score(field.errors_against(place), place).max(axis=1), CONFIDENCE)
            answer[index] = bool(field.score(field.means - field.means[place], place).max() <= bars)
    return answer


def rank_intervals(samples: Sequence[Sample]) -> list[tuple[int, int] | None]:
    """The best and the worst rank (1 is the highest mean) that each row may have, at 95 % for all rows at once.

    None for a row that cannot be judged; ranks are then those among the others.
    """
    judged = [index for index, sample in enumerate(samples) if can_be_judged(sample)]
    answer: list[tuple[int, int] | None] = [None] * len(samples)
    if not judged:
        return answer
    field = Field.of([samples[index] for index in judged])
    rows = range(len(judged))
    largest = np.full(DRAWS, -np.inf)
    for place in rows:
        largest = np.maximum(largest, np.abs(field.score(field.errors_against(place), place)).max(axis=1))
    bar = np.quantile(largest, CONFIDENCE)
    for place, index in enumerate(judged):
        gaps = field.score(field.means - field.means[place], place)
        answer[index] = (1 + int((gaps > bar).sum()), len(judged) - int((gaps < -bar).sum()))
    return answer


def can_be_judged(sample: Sample) -> bool:
    """Whether something can be said about the recipe: it has seeds, or needs none and has items."""
    return sample.effects is not None if sample.fixed else sample.count > 1


@dataclass(frozen=True, eq=False)
class Field:
    """Rows with their means, simulated errors, and the standard error of each pair with its freedom."""

    means: Array  # (rows,)
    errors: Array  # (draws, rows)
    scale: Array  # (rows, rows) standard errors of the differences
    freedom: Array  # (rows, rows)

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Field:
        """Deterministic: the same samples give the same draws."""
        rows = len(samples)
        random = np.random.default_rng(0)
        errors = np.zeros((DRAWS, rows))
        for row, sample in enumerate(samples):
            if sample.std is not None:
                errors[:, row] += random.standard_t(sample.count - 1, DRAWS) * sample.std / math.sqrt(sample.count)
        scale, freedom = np.zeros((rows, rows)), np.full((rows, rows), np.inf)
        for row, first in enumerate(samples):
            for other in range(row):
                found = compare(first, samples[other])
                scale[row, other] = scale[other, row] = found.error or 0.0
                freedom[row, other] = freedom[other, row] = found.freedom or np.inf
        root = roots(items_covariance(samples))
        errors += random.standard_normal((DRAWS, len(root))) @ root
        return cls(np.array([sample.mean for sample in samples]), errors, scale, freedom)

    def errors_against(self, place: int) -> Array:
        """(draws, rows) How wrong each row's lead over the row at `place` may be."""
        return np.asarray(self.errors - self.errors[:, [place]])

    def score(self, gaps: Array, place: int) -> Array:
        """(..., rows) Leads over a row in its errors' own measure, so that leads of unlike certainty compare.

        Student's t becomes a normal score (Wallace's approximation), signed like the gap.
        """
        scale, freedom = self.scale[place], self.freedom[place]
        with np.errstate(divide="ignore", invalid="ignore"):
            certain = np.where(np.abs(gaps) < NOTHING, 0.0, np.copysign(np.inf, gaps))
            t = np.where(scale > NOTHING, gaps / scale, certain)
            finite = np.minimum(freedom, 1e6)
            size = np.sqrt(finite * np.log1p(t**2 / finite)) * (8 * finite + 1) / (8 * finite + 3)
        return np.asarray(np.copysign(size, gaps))


def items_covariance(samples: Sequence[Sample]) -> Array:
    """(rows, rows) Of the means over test items, less what their spread over seeds holds already.

    Rows on other items, or without predictions, share nothing and get zero.
    """
    covariance = np.zeros((len(samples), len(samples)))
    for row, first in enumerate(samples):
        for other in range(row + 1):
            if pairable(first, samples[other]):
                assert first.effect is not None
                covariance[row, other] = covariance[other, row] = first.effect @ samples[other].effect
        covariance[row, row] = max(covariance[row, row] - first.interaction, 0.0)
    return covariance


def roots(covariance: Array) -> Array:
    """(rows, rows) A matrix R with R'R = covariance; what is below zero in it by chance counts as zero."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
