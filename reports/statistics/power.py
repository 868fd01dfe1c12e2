"""How likely a study finds an effect, and how many seeds it takes.

More seeds shrink the variance over seeds, never that over test items: with the same items an effect may stay out of
reach however many seeds are trained.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from reports.statistics.comparison import Part, items_part, total
from reports.statistics.measured import CONFIDENCE
from reports.statistics.sample import Sample, pairable

MOST_SEEDS = 1000


@dataclass(frozen=True)
class Spread:
    """The standard deviation over seeds as measured, and of how many degrees of freedom it is."""

    std: float
    freedom: int


def pooled_spread(samples: Iterable[Sample]) -> Spread | None:
    """Over rows, for a row whose own spread is not known; None where no row has a second seed."""
    several = [sample for sample in samples if sample.std is not None]
    freedom = sum(sample.count - 1 for sample in several)
    if not freedom:
        return None
    squares = math.fsum((sample.count - 1) * (sample.std or 0.0) ** 2 for sample in several)
    return Spread(math.sqrt(squares / freedom), freedom)


def power(
    first: Sample,
    second: Sample,
    effect: float,
    seeds: int | None = None,
    *,
    alpha: float = 1 - CONFIDENCE,
    spread: Spread | None = None,
) -> float:
    """The chance that a true gain of `effect` points would be found: p at most `alpha`, two-sided, not paired by seed.

    `seeds`: of each trained recipe; None for as many as each has. `spread` stands in for that of a sample with one
    seed; ValueError where it is needed and missing.
    """
    counts = [sample.count if seeds is None else seeds for sample in (first, second)]
    return _power(_Plan.of(first, second, spread), effect, counts, alpha)


def seeds_needed(
    first: Sample,
    second: Sample,
    effect: float,
    power: float = 0.8,
    *,
    alpha: float = 1 - CONFIDENCE,
    spread: Spread | None = None,
) -> int | None:
    """With how many seeds of each recipe, those there are included, a true gain of `effect` is found with that power.

    None: with no number up to MOST_SEEDS, since the test items' part alone is too large. `spread` as in `power`.
    """
    plan = _Plan.of(first, second, spread)

    def enough(seeds: int) -> bool:
        return _power(plan, effect, [seeds, seeds], alpha) >= power

    if not enough(MOST_SEEDS):
        return None
    low, high = 1, 2  # too few, perhaps enough
    while not enough(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class _Plan:
    """What a comparison's variance is made of."""

    spreads: tuple[Spread | None, Spread | None]  # None: no seed changes anything
    items: Part | None  # what stays however many seeds there are

    @classmethod
    def of(cls, first: Sample, second: Sample, spread: Spread | None) -> _Plan:
        spreads = [_spread(sample, spread) for sample in (first, second)]
        items = None
        if pairable(first, second):
            part = items_part(first, second)
            items = Part(max(part.variance - first.interaction - second.interaction, 0.0), part.freedom)
        return cls((spreads[0], spreads[1]), items)


def _spread(sample: Sample, other: Spread | None) -> Spread | None:
    if sample.fixed:
        return None
    if sample.std is not None:
        return Spread(sample.std, sample.count - 1)
    if other is None:
        raise ValueError("a recipe with one seed needs the spread of other rows to plan by")
    return other


def _power(plan: _Plan, effect: float, counts: list[int], alpha: float) -> float:
    """By the noncentral t with the expected degrees of freedom."""
    from scipy.stats import nct, t

    if any(spread and count < 2 for spread, count in zip(plan.spreads, counts, strict=True)):
        return 0.0  # one seed: no verdict
    parts = [
        Part(spread.std**2 / count, count - 1)
        for spread, count in zip(plan.spreads, counts, strict=True)
        if spread is not None
    ]
    error, freedom = total([*parts, *([plan.items] if plan.items else [])])
    if error == 0:
        return 1.0 if effect else alpha
    quantile, shift = float(t.ppf(1 - alpha / 2, freedom)), abs(effect) / error
    return float(nct.sf(quantile, freedom, shift) + nct.cdf(-quantile, freedom, shift))
