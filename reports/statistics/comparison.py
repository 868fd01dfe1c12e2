"""One recipe against another: how much better it is, how sure that is, and on what it rests (docs/statistics.md).

A spread of few seeds that came out small by chance makes a gain look sure, and drawing it to the others' spreads
(`spreads.py`) makes one look sure whose recipe truly scatters more than they do. So the interval is the wider one of
two that fail in different cases:

- The second recipe, with which many are compared, stands on its own spread, the first is drawn to the others';
  degrees of freedom are Satterthwaite's, a little wary. Of two recipes of which neither is the baseline each stands on
  its own in turn, so that it is all one which is named first.
- Both are drawn to the others', and each part of the variance has its own Student's t (Banerjee 1960), which holds for
  every level, however small one of the parts came out.

In the finals of a search (`finals.py`) recipes of four seeds or more stand on their own spread (Welch 1947), those of
fewer on what is lent to them, and the interval has one estimate.
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
from reports.statistics.spreads import ALONE, FEW_SEEDS, Common

Basis = Literal["seeds and items", "items only", "seeds only", "none"]
"""What the interval counts: `items only` with one seed, `seeds only` where predictions were not kept."""

WARY = 3.0
"""How much more a variance of one degree of freedom counts among others; see `wary_freedom`."""
SMALLEST = 1e-12
"""No p is told more exactly."""


@dataclass(frozen=True)
class Comparison:
    """`first` minus `second` in points, with its 95 % interval. What is unknown is None."""

    gain: float
    low: float | None
    high: float | None
    p: float | None
    """Two-sided, of no difference, for this one comparison. None with one seed, where the recipes cannot be judged, and
    in the finals of a search, which ask for one direction."""
    error: Error | None
    """How far the gain may be off by chance; None where nothing is known of it."""
    items_variance: float | None
    basis: Basis
    seeds: tuple[int, int]
    """How many of each."""
    one_seed: bool
    """Whether a trained recipe has one seed only, and no spread is lent to it: nothing can be said about the recipe."""
    paired: bool = False
    """Whether the seeds were paired."""
    looks: float = 1.0
    """By how much chance counts more, since a study may be extended and looked at again (`facts.looks`), and where
    numbers of seeds hang on the scores (`sequential.looks`). The interval and every p allow for it."""

    def flipped(self) -> Comparison:
        """`second` minus `first`."""
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return replace(self, gain=-self.gain, low=low, high=high, seeds=self.seeds[::-1])


@dataclass(frozen=True)
class ErrorPart:
    """An estimated variance, and of how many degrees of freedom the estimate is."""

    variance: Any
    freedom: Any


@dataclass(frozen=True)
class SeedsPart(ErrorPart):
    """The variance of a mean over its seeds."""

    seeds: int
    stands_alone: bool = False
    """Of the recipe with which others are compared."""
    of_gaps: bool = False
    """Of differences seed by seed, about which the recipes' own spreads say nothing."""

    @property
    def of_few_seeds(self) -> bool:
        """Whether they say little of how a recipe scatters."""
        return self.seeds <= FEW_SEEDS and not self.of_gaps

    def drawn_to(self, common: Common) -> ErrorPart:
        """What it counts as beside the others' spreads."""
        return self if self.of_gaps else ErrorPart(*common.with_own(self.variance, self.freedom, self.seeds))


@dataclass(frozen=True)
class Error:
    """How far a gain may be off by chance: two estimates of its variance, of which the wider one counts at each level.

    Numbers, or arrays of many cases at once.
    """

    variance: Any
    freedom: Any
    """Satterthwaite's, wary; of the first estimate."""
    parts: tuple[ErrorPart, ...]
    """Of the second one; empty where there is none."""
    exchanged: Error | None = None
    """With the other recipe on its own spread, where neither is the baseline: the wider one counts."""

    @classmethod
    def of(cls, seeds: Sequence[SeedsPart], items: ErrorPart | None, shared: Any, common: Common) -> Error:
        """From the variances over seeds and over items, less what they share.

        Neither estimate falls below the larger of the two sides. `shared` is an estimate of very many degrees of
        freedom, so it adds nothing to the uncertainty.
        """
        if common.lent:
            few = [part for part in seeds if common.freedom and part.of_few_seeds]
            own = [part for part in seeds if not (common.freedom and part.of_few_seeds)]
            return cls._estimate([*own, *_lent(common, few)], items, shared, ())
        drawn = [part.drawn_to(common) for part in seeds]
        mixed = [own if own.stands_alone else part for own, part in zip(seeds, drawn, strict=True)]
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
        """Of the two-sided interval at that level."""
        from scipy.special import stdtrit

        first = stdtrit(self.freedom, 1 - alpha / 2) ** 2 * self.variance
        second = _added(stdtrit(part.freedom, 1 - alpha / 2) ** 2 * part.variance for part in self.parts)
        wider = np.sqrt(np.maximum(first, second))
        return wider if self.exchanged is None else np.maximum(wider, self.exchanged.half_width(alpha))

    def p_value(self, gap: float) -> float:
        """Two-sided, of a gap by chance alone. Where nothing varies, any gap is certain."""
        from scipy.optimize import brentq

        gap = abs(gap)
        if gap == 0:
            return 1.0
        if self.half_width(SMALLEST) <= gap:
            return 0.0 if self.half_width(0.5) == 0 else SMALLEST
        level = brentq(lambda log: float(self.half_width(math.exp(log))) - gap, math.log(SMALLEST), 0.0, xtol=1e-6)
        return math.exp(level)


def _added(values: Iterable[Any]) -> Any:
    """Numbers, or arrays of many cases at once, in their order: Python's `sum` ends in other digits since 3.12."""
    return functools.reduce(operator.add, values, 0.0)


def _lent(common: Common, few: Sequence[SeedsPart]) -> list[ErrorPart]:
    """One estimate for all that need it: what is common and what their own seeds moved, by degrees of freedom. It has
    no more of these than the common one, as a recipe may be unlike others."""
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
    common: Common = ALONE,
    paired: bool = False,
    looks: float = 1.0,
    between_rows: bool = False,
) -> Comparison:
    """The gain of `first` over `second` with its interval and p.

    `second` is the baseline, with which others are compared, too; with `between_rows` neither is. `common`: what the
    spreads of the study's recipes have in common. `paired`: the spread is that of the differences seed by seed;
    ValueError where the seeds are not the same. `looks` as in `Comparison`.
    """
    gain = first.mean - second.mean
    lent = common.lent and common.freedom > 0
    one_seed = not lent and any(not sample.fixed and sample.count < 2 for sample in (first, second))
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
            turned = [replace(part, stands_alone=not part.stands_alone) for part in seeds]
            error = replace(error, exchanged=Error.of(turned, items, shared, common))
        half = error.half_width((1 - CONFIDENCE) / looks)
        low, high = gain - half, gain + half
        p = None if one_seed or common.lent else min(1.0, looks * error.p_value(gain))
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
        looks=looks,
    )


def by_itself(sample: Sample, common: Common = ALONE) -> Comparison:
    """A recipe's figure with its own interval: the comparison with a certain zero. Its p says nothing."""
    effects = None if sample.effects is None else np.zeros((1, sample.effects.shape[1]))
    zero = Sample(np.zeros(1), (0,), fixed=True, effects=effects, items=sample.items)
    return compare(sample, zero, common=common)


def seeds_parts(first: Sample, second: Sample) -> list[SeedsPart]:
    """The variance of each mean over its seeds, of no degree of freedom with one seed; nothing for a fixed sample."""
    return [
        SeedsPart(
            (sample.std or 0.0) ** 2 / sample.count, sample.count - 1, sample.count, stands_alone=sample is second
        )
        for sample in (first, second)
        if not sample.fixed
    ]


def paired_seeds_part(first: Sample, second: Sample) -> list[SeedsPart]:
    """The variance of the mean difference over common seeds."""
    gaps = by_seed(first) - by_seed(second) if sorted(first.seeds) == sorted(second.seeds) else None
    if gaps is None or first.fixed or second.fixed:
        raise ValueError("samples pair by seed only where both were trained under the same seeds")
    return [SeedsPart(float(gaps.var(ddof=1)) / len(gaps), len(gaps) - 1, len(gaps), of_gaps=True)]


def by_seed(sample: Sample) -> Array:
    """(seeds,) The values in the order of the seeds' numbers."""
    return np.asarray(sample.values, dtype=float)[np.argsort(sample.seeds, kind="stable")]


def items_part(first: Sample, second: Sample) -> ErrorPart:
    """The variance over test items of the difference of both means.

    Its degrees of freedom come from the effects' own fourth moment: with few items on which the two differ, the
    variance is known badly, however many items there are.
    """
    assert first.effect is not None
    assert second.effect is not None
    squares = (first.effect - second.effect) ** 2
    variance = float(squares.sum())
    scatter = float(((squares - squares.mean()) ** 2).sum())
    most = max(len(squares) - 1, 1)
    return ErrorPart(variance, min(2 * variance**2 / scatter, most) if scatter > 0 else most)


def interaction(first: Sample, second: Sample, paired: bool = False) -> float:
    """The variance that both parts contain; see `Sample.interaction`."""
    if not paired:
        return first.interaction + second.interaction
    assert first.effects is not None
    assert second.effects is not None
    orders = [np.argsort(sample.seeds, kind="stable") for sample in (first, second)]
    return residual_variance(first.effects[orders[0]] - second.effects[orders[1]])


def wary_freedom(total: Any, variances: Sequence[Any], freedoms: Sequence[Any]) -> Array:
    """The degrees of freedom of a variance that sums others; any number of cases at once.

    Satterthwaite's trust the measured shares of the parts. A spread of three seeds that came out small by chance then
    looks unimportant, and the interval covers as little as 87 % beside a variance over items. So each part counts as
    WARY / freedom larger when the degrees are taken; 95 % intervals then cover within 92 and 97 %.
    """
    variances = [np.asarray(part) for part in variances]
    wary = [part * (1 + WARY / freedom) for part, freedom in zip(variances, freedoms, strict=True)]
    doubt = _added(part**2 / freedom for part, freedom in zip(wary, freedoms, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.asarray(total + _added(wary) - _added(variances)) ** 2 / np.asarray(doubt)
    return np.where(np.asarray(doubt) > 0, freedom, np.inf)
