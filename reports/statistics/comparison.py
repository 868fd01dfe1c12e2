"""Comparison of two recipes: the gain, its interval, and what the interval is based on (docs/statistics.md).

A spread of few seeds that is small by chance makes a gain look too sure. A spread that is shrunk to the other recipes'
spreads (`spreads.py`) makes a gain look too sure if the recipe truly scatters more than the others. So the interval is
the wider of two intervals, which fail in different cases:

- The second recipe, with which many are compared, uses its own spread; the first is shrunk to the others'. Degrees of
  freedom are Satterthwaite's, made a little wary. If neither recipe is the baseline, each uses its own spread in turn,
  so that the order of the two recipes does not matter.
- Both are shrunk to the others', and each part of the variance has its own Student's t (Banerjee 1960). This holds at
  every level, however small one of the parts is.

In the finals of a search (`finals.py`) recipes of four seeds or more use their own spread (Welch 1947), recipes of
fewer seeds a borrowed spread, and the interval has one estimate.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from reports.statistics.measured import CONFIDENCE
from reports.statistics.sample import Array, Sample, pairable, residual_variance
from reports.statistics.spreads import FEW_SEEDS, NO_COMMON_SPREAD, CommonSpread

Basis = Literal["seeds and items", "items only", "seeds only", "none"]
"""Sources of uncertainty in an interval: `items only` if recipes have one seed, `seeds only` without predictions."""

WARY = 3.0
"""Extra weight of a variance with one degree of freedom when degrees of freedom are computed, see `wary_freedom`."""
SMALLEST = 1e-12
"""Smallest p that is computed exactly; smaller ones are set to it."""


@dataclass(frozen=True)
class Comparison:
    """The gain `first` minus `second` in points, with its 95 % interval. Unknown values are None."""

    gain: float
    low: float | None
    high: float | None
    p: float | None
    """Two-sided p of "no difference", for this comparison alone. None with one seed, where the recipes cannot be
    judged, and in the finals of a search, which test one direction."""
    error: Error | None
    """How far the gain may be off by chance; None if unknown."""
    items_variance: float | None
    basis: Basis
    seeds: tuple[int, int]
    """Numbers of seeds of `first` and `second`."""
    one_seed: bool
    """Whether a trained recipe has only one seed and no spread is assumed for it: the recipe then cannot be judged."""
    paired: bool = False
    p_factor: float = 1.0
    """Factor on every p, for a study that is extended and judged again (`facts.looks`), and for numbers of seeds that
    depend on scores (`sequential.race_p_factor`). The interval and every p include this factor."""

    def flipped(self) -> Comparison:
        """Return the comparison with the two recipes exchanged: `second` minus `first`."""
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return replace(self, gain=-self.gain, low=low, high=high, seeds=self.seeds[::-1])


@dataclass(frozen=True)
class ErrorPart:
    """An estimated variance, and the degrees of freedom of the estimate."""

    variance: Any
    freedom: Any


@dataclass(frozen=True)
class SeedsPart(ErrorPart):
    """The variance of a recipe's mean over its seeds."""

    seeds: int
    uses_own_spread: bool = False
    """Whether the recipe is the one with which the others are compared: it uses its own spread over seeds."""
    of_gaps: bool = False
    """Whether the variance is of two recipes' differences seed by seed, to which their own spreads do not apply."""

    @property
    def of_few_seeds(self) -> bool:
        """Whether the seeds are too few to estimate a recipe's spread."""
        return self.seeds <= FEW_SEEDS and not self.of_gaps

    def drawn_to(self, common: CommonSpread) -> ErrorPart:
        """Return the variance, shrunk towards the common spread; unchanged for differences seed by seed."""
        return self if self.of_gaps else ErrorPart(*common.with_own(self.variance, self.freedom, self.seeds))


@dataclass(frozen=True)
class Error:
    """How far a gain may be off by chance: two estimates of its variance. At each level the wider interval counts.

    All values are numbers, or arrays of many cases at once.
    """

    variance: Any
    freedom: Any
    """Wary Satterthwaite degrees of freedom (`wary_freedom`) of the first estimate."""
    parts: tuple[ErrorPart, ...]
    """Parts of the second estimate of the variance; empty if there is no second estimate."""
    exchanged: Error | None = None
    """If neither recipe is the baseline: the error with the other one on its own spread; the wider interval counts."""

    @classmethod
    def of(cls, seeds: Sequence[SeedsPart], items: ErrorPart | None, shared: Any, common: CommonSpread) -> Error:
        """Compute the error from the variances over seeds and over items, minus the variance that both contain.

        Neither estimate is below the larger of the two. `shared` has very many degrees of freedom: it counts as exact.
        """
        if common.for_few_seeds_only:
            few = [part for part in seeds if common.freedom and part.of_few_seeds]
            own = [part for part in seeds if not (common.freedom and part.of_few_seeds)]
            return cls._estimate([*own, *_borrowed(common, few)], items, shared, ())
        drawn = [part.drawn_to(common) for part in seeds]
        mixed = [own if own.uses_own_spread else part for own, part in zip(seeds, drawn, strict=True)]
        rest = _less_shared(drawn, items, shared) - _added(part.variance for part in drawn)
        over_items = [ErrorPart(np.maximum(rest, 0.0), items.freedom)] if items else []
        return cls._estimate(mixed, items, shared, (*drawn, *over_items))

    @classmethod
    def _estimate(
        cls, seeds: Sequence[ErrorPart], items: ErrorPart | None, shared: Any, parts: tuple[ErrorPart, ...]
    ) -> Error:
        variance, both = _less_shared(seeds, items, shared), [*seeds, *([items] if items else [])]
        freedom = wary_freedom(variance, [part.variance for part in both], [part.freedom for part in both])
        return cls(variance, freedom, parts)

    def half_width(self, alpha: float = 1 - CONFIDENCE) -> Any:
        """Return half the width of the two-sided interval with error `alpha`."""
        from scipy.special import stdtrit

        first = stdtrit(self.freedom, 1 - alpha / 2) ** 2 * self.variance
        second = _added(stdtrit(part.freedom, 1 - alpha / 2) ** 2 * part.variance for part in self.parts)
        wider = np.sqrt(np.maximum(first, second))
        return wider if self.exchanged is None else np.maximum(wider, self.exchanged.half_width(alpha))

    def p_value(self, gap: float) -> float:
        """Return the two-sided p of a gap of this size by chance. Without any variance, p is 0 for every gap but 0."""
        from scipy.optimize import brentq

        gap = abs(gap)
        if gap == 0:
            return 1.0
        if self.half_width(SMALLEST) <= gap:
            return 0.0 if self.half_width(0.5) == 0 else SMALLEST
        level = brentq(lambda log: float(self.half_width(math.exp(log))) - gap, math.log(SMALLEST), 0.0, xtol=1e-6)
        return math.exp(level)


def _added(values: Iterable[Any]) -> Any:
    """Sum numbers, or arrays of many cases at once, in their order: Python's `sum` rounds differently since 3.12."""
    return functools.reduce(operator.add, values, 0.0)


def _borrowed(common: CommonSpread, few: Sequence[SeedsPart]) -> list[ErrorPart]:
    """Return one variance for all recipes of few seeds: from the common variance and their own, weighted by degrees of
    freedom. It keeps only the common one's degrees of freedom, since a recipe may be unlike others."""
    if not few:
        return []
    freedom = _added(part.freedom for part in few)
    moved = _added(part.freedom * part.seeds * part.variance for part in few)
    variance = (common.freedom * common.variance + moved) / (common.freedom + freedom)
    return [ErrorPart(variance * _added(1 / part.seeds for part in few), common.freedom)]


def _less_shared(seeds: Sequence[ErrorPart], items: ErrorPart | None, shared: Any) -> Any:
    over_seeds, over_items = _added(part.variance for part in seeds), items.variance if items else 0.0
    return np.maximum(over_seeds + over_items - shared, np.maximum(over_seeds, over_items))


def compare(
    first: Sample,
    second: Sample,
    *,
    common: CommonSpread = NO_COMMON_SPREAD,
    paired: bool = False,
    p_factor: float = 1.0,
    between_rows: bool = False,
) -> Comparison:
    """Return the gain of `first` over `second` with its interval and p.

    `second` is the baseline, with which other recipes are compared, too; if `between_rows`, neither recipe is.
    `common`: the common spread of the study's recipes. `paired`: use the spread of the differences seed by seed;
    ValueError if the seeds are not the same. `p_factor` as in `Comparison`.
    """
    gain = first.mean - second.mean
    borrowed = common.for_few_seeds_only and common.freedom > 0
    one_seed = not borrowed and any(not sample.fixed and sample.count < 2 for sample in (first, second))
    seeds = None if one_seed else paired_seeds_part(first, second) if paired else seeds_parts(first, second)
    items = items_part(first, second) if pairable(first, second) else None
    basis: Basis
    if one_seed or (first.fixed and second.fixed):
        basis = "items only" if items else "none"
    else:
        basis = "seeds and items" if items else "seeds only"
    error = low = high = p = None
    if basis != "none":
        shared = interaction(first, second, paired) if basis == "seeds and items" else 0.0
        error = Error.of(seeds or [], items, shared, common)
        if between_rows and seeds and not paired:
            turned = [replace(part, uses_own_spread=not part.uses_own_spread) for part in seeds]
            error = replace(error, exchanged=Error.of(turned, items, shared, common))
        half = error.half_width((1 - CONFIDENCE) / p_factor)
        low, high = gain - half, gain + half
        p = None if one_seed or common.for_few_seeds_only else min(1.0, p_factor * error.p_value(gain))
    return Comparison(
        gain=gain,
        low=low,
        high=high,
        p=p,
        error=error,
        items_variance=items.variance if items else None,
        basis=basis,
        seeds=(first.count, second.count),
        one_seed=one_seed,
        paired=paired,
        p_factor=p_factor,
    )


def by_itself(sample: Sample, common: CommonSpread = NO_COMMON_SPREAD) -> Comparison:
    """Return a recipe's figure with its own interval, as a comparison with a constant 0. Ignore the p of the result."""
    effects = None if sample.effects is None else np.zeros((1, sample.effects.shape[1]))
    zero = Sample(np.zeros(1), (0,), fixed=True, effects=effects, items=sample.items)
    return compare(sample, zero, common=common)


def seeds_parts(first: Sample, second: Sample) -> list[SeedsPart]:
    """Return the variance of each mean over its seeds (one seed: no degrees of freedom); none for a fixed sample."""
    return [
        SeedsPart(
            (sample.std or 0.0) ** 2 / sample.count, sample.count - 1, sample.count, uses_own_spread=sample is second
        )
        for sample in (first, second)
        if not sample.fixed
    ]


def paired_seeds_part(first: Sample, second: Sample) -> list[SeedsPart]:
    """Return the variance of the mean difference over common seeds. ValueError if the seeds differ or one is fixed."""
    gaps = by_seed(first) - by_seed(second) if sorted(first.seeds) == sorted(second.seeds) else None
    if gaps is None or first.fixed or second.fixed:
        raise ValueError("samples pair by seed only where both were trained under the same seeds")
    return [SeedsPart(float(gaps.var(ddof=1)) / len(gaps), len(gaps) - 1, len(gaps), of_gaps=True)]


def by_seed(sample: Sample) -> Array:
    """(seeds,) The sample's values, sorted by the seeds' numbers."""
    return np.asarray(sample.values, dtype=float)[np.argsort(sample.seeds, kind="stable")]


def items_part(first: Sample, second: Sample) -> ErrorPart:
    """Return the variance over test items of the difference of both means.

    Its degrees of freedom come from the effects' own fourth moment: if the two recipes differ on few items, the
    variance is badly known, however many items there are.
    """
    assert first.effect is not None
    assert second.effect is not None
    squares = (first.effect - second.effect) ** 2
    variance = float(squares.sum())
    scatter = float(((squares - squares.mean()) ** 2).sum())
    most = max(len(squares) - 1, 1)
    return ErrorPart(variance, min(2 * variance**2 / scatter, most) if scatter > 0 else most)


def interaction(first: Sample, second: Sample, paired: bool = False) -> float:
    """Return the variance that the seeds' and the items' parts both contain; see `Sample.interaction`."""
    if not paired:
        return first.interaction + second.interaction
    assert first.effects is not None
    assert second.effects is not None
    orders = [np.argsort(sample.seeds, kind="stable") for sample in (first, second)]
    return residual_variance(first.effects[orders[0]] - second.effects[orders[1]])


def wary_freedom(total: Any, variances: Sequence[Any], freedoms: Sequence[Any]) -> Array:
    """Return the degrees of freedom of a sum of variances; for any number of cases at once.

    Satterthwaite's formula trusts the measured shares of the parts. A spread of three seeds that is small by chance
    then looks unimportant, and the interval covers as little as 87 % beside a variance over items. So each part is
    enlarged by the share WARY / freedom when the degrees are computed; 95 % intervals then cover 92 to 97 %.
    """
    variances = [np.asarray(part) for part in variances]
    wary = [part * (1 + WARY / freedom) for part, freedom in zip(variances, freedoms, strict=True)]
    doubt = _added(part**2 / freedom for part, freedom in zip(wary, freedoms, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.asarray(total + _added(wary) - _added(variances)) ** 2 / np.asarray(doubt)
    return np.where(np.asarray(doubt) > 0, freedom, np.inf)
