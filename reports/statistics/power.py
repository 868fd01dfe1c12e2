"""How likely a study finds an effect, and how many seeds it takes.

More seeds shrink the variance over seeds, never that over test items: with the same items an effect may stay out of
reach however many seeds are trained.
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
from reports.statistics.spreads import ALONE, FEW_SEEDS, Common

MOST_SEEDS = 1000
FIRMNESS = 6
"""How much better than by its own seeds a spread counts as known in planning; see `_power`."""
POINTS = 256


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
    seeds: int,
    *,
    alpha: float = 1 - CONFIDENCE,
    common: Common = ALONE,
    spread: Spread | None = None,
) -> float:
    """The chance that a true gain of `effect` points would be found: p at most `alpha`, two-sided, on the right side.

    `seeds`: of each trained recipe. `spread` stands in for that of a sample with one seed; ValueError where it is
    needed and missing. `common` as in `compare`.
    """
    return _power(_Plan.of(first, second, common, spread), effect, seeds, alpha)


def seeds_needed(
    first: Sample,
    second: Sample,
    effect: float,
    power: float = 0.8,
    *,
    alpha: float = 1 - CONFIDENCE,
    common: Common = ALONE,
    spread: Spread | None = None,
) -> int | None:
    """With how many seeds of each recipe, those there are included, a true gain of `effect` is found with that power.

    None: with no number up to MOST_SEEDS, since the test items' part alone is too large. The rest as in `power`.
    """
    plan = _Plan.of(first, second, common, spread)
    return fewest(lambda seeds: _power(plan, effect, seeds, alpha) >= power)


def least_gain(first: Sample, second: Sample, power: float = 0.8, *, alpha: float = 1 - CONFIDENCE) -> float | None:
    """The smallest true gain in points that these test items show with that power, however many seeds there are. None
    where the two were not tested on the same items."""
    from scipy.special import ndtri

    items = _Plan.of(first, second, ALONE, Spread(0.0, 1)).items
    if items is None:
        return None
    bar = Error.of([], items, 0.0, ALONE).half_width(alpha)
    return float(bar + ndtri(power) * math.sqrt(items.variance))


def fewest(enough: Callable[[int], bool]) -> int | None:
    """The smallest number of seeds, from 2 on, that is enough; None where MOST_SEEDS are not. Those who stand on their
    own spread show more with more; fewer, to whom one is lent, may show more than these."""
    lent, own = range(2, FEW_SEEDS + 1), range(FEW_SEEDS + 1, MOST_SEEDS + 1)
    first = next(filter(enough, lent), None)
    return first or next(iter(own[bisect_left(own, True, key=enough) :]), None)


@dataclass(frozen=True)
class _Plan:
    """What a comparison's variance is made of."""

    spreads: tuple[Spread | None, Spread | None]  # None: no seed changes anything
    items: ErrorPart | None  # what stays however many seeds there are
    common: Common

    @classmethod
    def of(cls, first: Sample, second: Sample, common: Common, spread: Spread | None) -> _Plan:
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
    """The mean over what the true spreads may be, and over what spreads the study will then measure.

    A spread of few seeds is badly known. Its true value is drawn as if FIRMNESS times the degrees of freedom had been
    measured: with all of its uncertainty the advice is twice as many seeds as turn out to be needed, with none of it
    too few.
    """
    from scipy.special import chdtri, ndtr

    trained = [(place, spread) for place, spread in enumerate(plan.spreads) if spread is not None]
    if trained and count < 2:
        return 0.0  # one seed: no verdict
    true = plan.items.variance if plan.items else 0.0
    seeds = []
    for place, spread in trained:
        freedom = FIRMNESS * spread.freedom
        over_seeds = spread.std**2 / count * freedom / chdtri(freedom, _points()[:, 2 * place])
        measured = over_seeds * chdtri(count - 1, _points()[:, 2 * place + 1]) / (count - 1)
        seeds.append(SeedsPart(measured, count - 1.0, count, stands_alone=place == 1))
        true = true + over_seeds
    bar = Error.of(seeds, plan.items, 0.0, plan.common).half_width(alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = ndtr((abs(effect) - bar) / np.sqrt(true))
    return float(np.nan_to_num(chance, nan=0.0).mean())


@functools.cache
def _points() -> Array:
    """(POINTS, 4) Evenly spread in the unit cube, always the same."""
    from scipy.stats import qmc

    return np.asarray(qmc.Sobol(4, seed=0).random(POINTS))
