"""The chance that a study finds an effect, and the number of seeds that finding it needs.

More seeds reduce the variance over seeds, never the variance over test items. So with the same items, some effects
cannot be found with any number of seeds.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from reports.statistics.comparison import Error, ErrorPart, SeedsPart, interaction, items_part
from reports.statistics.measured import CONFIDENCE
from reports.statistics.sample import Array, Sample, pairable
from reports.statistics.spreads import FEW_SEEDS, NO_COMMON_SPREAD, CommonSpread

MOST_SEEDS = 1000
FIRMNESS = 6
"""Planning trusts a measured spread as if it had this many times its degrees of freedom; see `_power`."""
POINTS = 256


@dataclass(frozen=True)
class Spread:
    """The measured standard deviation over seeds, and its degrees of freedom."""

    std: float
    freedom: int


def pooled_spread(samples: Iterable[Sample]) -> Spread | None:
    """Return the spread over seeds, pooled over rows, for a row with one seed. None if no row has a second seed."""
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
    seeds: int,
    *,
    alpha: float = 1 - CONFIDENCE,
    common: CommonSpread = NO_COMMON_SPREAD,
    spread: Spread | None = None,
) -> float:
    """Return the chance that a true gain of `effect` points is found: two-sided p at most `alpha`, with the right sign.

    `seeds`: number of seeds of each trained recipe. `spread` replaces the spread of a sample with one seed; ValueError
    if it is needed and missing. `common` as in `compare`.
    """
    return _power(_Plan.of(first, second, common, spread), effect, seeds, alpha)


def seeds_needed(
    first: Sample,
    second: Sample,
    effect: float,
    power: float = 0.8,
    *,
    alpha: float = 1 - CONFIDENCE,
    common: CommonSpread = NO_COMMON_SPREAD,
    spread: Spread | None = None,
) -> int | None:
    """Return the seeds of each recipe, present ones included, with which a true gain of `effect` is found with `power`.

    None if no number up to MOST_SEEDS is enough: the items' variance alone is too large. Parameters as in `power`.
    """
    plan = _Plan.of(first, second, common, spread)
    return fewest(lambda seeds: _power(plan, effect, seeds, alpha) >= power)


def least_gain(first: Sample, second: Sample, power: float = 0.8, *, alpha: float = 1 - CONFIDENCE) -> float | None:
    """Return the smallest true gain in points that these test items show with that power, with any number of seeds.
    None if the two recipes were not tested on the same items."""
    from scipy.special import ndtri

    items = _Plan.of(first, second, NO_COMMON_SPREAD, Spread(0.0, 1)).items
    if items is None:
        return None
    bar = Error.of([], items, 0.0, NO_COMMON_SPREAD).half_width(alpha)
    return float(bar + ndtri(power) * math.sqrt(items.variance))


def fewest(enough: Callable[[int], bool]) -> int | None:
    """Return the smallest number of seeds, from 2 on, for which `enough` is true; None if there is none up to
    MOST_SEEDS. All numbers up to FEW_SEEDS are tried, as an assumed spread may show more than a few more seeds. Above
    FEW_SEEDS, more seeds show more."""
    borrowing, own = range(2, FEW_SEEDS + 1), range(FEW_SEEDS + 1, MOST_SEEDS + 1)
    first = next(filter(enough, borrowing), None)
    return first or next(iter(own[bisect_left(own, True, key=enough) :]), None)


@dataclass(frozen=True)
class _Plan:
    """The parts of a planned comparison's variance."""

    spreads: tuple[Spread | None, Spread | None]  # None: a fixed recipe
    items: ErrorPart | None  # the part that more seeds do not reduce
    common: CommonSpread

    @classmethod
    def of(cls, first: Sample, second: Sample, common: CommonSpread, spread: Spread | None) -> _Plan:
        items = None
        if pairable(first, second):
            of_items = items_part(first, second)
            items = ErrorPart(max(of_items.variance - interaction(first, second), 0.0), of_items.freedom)
        return cls((_spread(first, spread), _spread(second, spread)), items, common)


def _spread(sample: Sample, other: Spread | None) -> Spread | None:
    if sample.fixed:
        return None
    if sample.std is not None:
        return Spread(sample.std, sample.count - 1)
    if other is None:
        raise ValueError("a recipe with one seed needs the spread of other rows to plan by")
    return other


def _power(plan: _Plan, effect: float, count: int, alpha: float) -> float:
    """Mean power over the possible true spreads, and over the spreads that the study will then measure.

    A spread of few seeds is badly known. Its true value is drawn as if it had FIRMNESS times the degrees of freedom:
    with all of its uncertainty the advice is twice as many seeds as turn out to be needed; with none it is too few.
    """
    from scipy.special import chdtri, ndtr

    trained = [(index, spread) for index, spread in enumerate(plan.spreads) if spread is not None]
    if trained and count < 2:
        return 0.0  # one seed: no verdict
    true = plan.items.variance if plan.items else 0.0
    seeds = []
    for index, spread in trained:
        freedom = FIRMNESS * spread.freedom
        over_seeds = spread.std**2 / count * freedom / chdtri(freedom, _points()[:, 2 * index])
        measured = over_seeds * chdtri(count - 1, _points()[:, 2 * index + 1]) / (count - 1)
        seeds.append(SeedsPart(measured, count - 1.0, count, uses_own_spread=index == 1))
        true = true + over_seeds
    bar = Error.of(seeds, plan.items, 0.0, plan.common).half_width(alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = ndtr((abs(effect) - bar) / np.sqrt(true))
    return float(np.nan_to_num(chance, nan=0.0).mean())


@functools.cache
def _points() -> Array:
    """Return (POINTS, 4) points that are evenly spread in the unit cube, the same in every run."""
    from scipy.stats import qmc

    return np.asarray(qmc.Sobol(4, seed=0).random(POINTS))
