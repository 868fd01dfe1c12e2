"""One recipe against another: how much better it is, how sure that is, and on what it rests.

Two things make a gain uncertain. Another seed gives another model, and other test items give another score. Both are
counted: the variance over seeds (Welch's, every recipe with its own spread) plus the variance over items (of the
difference of both recipes on the same items).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from reports.statistics.measured import CONFIDENCE
from reports.statistics.sample import Array, Sample, pairable, residual_variance

Basis = Literal["seeds and items", "items only", "seeds only", "none"]
"""What the interval counts: `items only` with one seed, `seeds only` where predictions were not kept."""

WARY = 3.0
"""How much more a variance of one degree of freedom counts among others; see `wary_freedom`."""


@dataclass(frozen=True)
class Comparison:
    """`first` minus `second` in points, with its 95 % interval. What is unknown is None."""

    gain: float
    low: float | None
    high: float | None
    p: float | None
    """Two-sided, of no difference, for this one comparison. None with one seed: the recipes cannot be judged."""
    freedom: float | None
    """Satterthwaite's degrees of freedom, a little wary of spreads over few seeds."""
    error: float | None
    """The standard error in points."""
    seeds_variance: float | None
    items_variance: float | None
    basis: Basis
    seeds: tuple[int, int]
    """How many of each."""
    one_seed: bool
    """Whether a trained recipe has one seed only, so that nothing can be said about the recipe."""
    paired: bool = False
    """Whether the seeds were paired."""
    looks: float = 1.0
    """Where the numbers of seeds hang on the scores, by how much chance counts more (`sequential.looks`). The interval
    and every p allow for it."""


@dataclass(frozen=True)
class Part:
    """An estimated variance, and of how many degrees of freedom the estimate is."""

    variance: float
    freedom: float


def compare(first: Sample, second: Sample, *, paired: bool = False, looks: float = 1.0) -> Comparison:
    """The gain of `first` over `second` with its interval and p.

    `paired`: both were trained under the same seeds, and the spread is that of the differences seed by seed. Raises
    ValueError where the seeds are not the same. `looks` as in `Comparison`.
    """
    gain = first.mean - second.mean
    one_seed = any(not sample.fixed and sample.count < 2 for sample in (first, second))
    seeds = None if one_seed else paired_seeds_part(first, second) if paired else seeds_parts(first, second)
    items = items_part(first, second) if pairable(first, second) else None
    parts = [*(seeds or []), *([items] if items else [])]
    basis: Basis
    if one_seed or (first.fixed and second.fixed):
        basis = "items only" if items else "none"
    else:
        basis = "seeds and items" if items else "seeds only"
    error = freedom = low = high = p = None
    if basis != "none":
        shared = interaction(first, second, paired) if basis == "seeds and items" else 0.0
        error, freedom = total(parts, shared)
        half = half_width(error, freedom, (1 - CONFIDENCE) / looks)
        low, high = gain - half, gain + half
        p = None if one_seed else min(1.0, looks * p_value(gain, error, freedom))
    return Comparison(
        gain=gain,
        low=low,
        high=high,
        p=p,
        freedom=freedom,
        error=error,
        seeds_variance=None if seeds is None else math.fsum(part.variance for part in seeds),
        items_variance=items.variance if items else None,
        basis=basis,
        seeds=(first.count, second.count),
        one_seed=one_seed,
        paired=paired,
        looks=looks,
    )


def by_itself(sample: Sample) -> Comparison:
    """A recipe's figure with its own interval: the comparison with a certain zero. Its p says nothing."""
    effects = None if sample.effects is None else np.zeros((1, sample.effects.shape[1]))
    return compare(sample, Sample(np.zeros(1), (0,), fixed=True, effects=effects, items=sample.items))


def seeds_parts(first: Sample, second: Sample) -> list[Part]:
    """The variance of each mean over its seeds; nothing for a fixed sample. Every trained sample has two seeds."""
    return [
        Part(sample.std**2 / sample.count, sample.count - 1) for sample in (first, second) if sample.std is not None
    ]


def paired_seeds_part(first: Sample, second: Sample) -> list[Part]:
    """The variance of the mean difference over common seeds."""
    gaps = by_seed(first) - by_seed(second) if sorted(first.seeds) == sorted(second.seeds) else None
    if gaps is None or first.fixed or second.fixed:
        raise ValueError("samples pair by seed only where both were trained under the same seeds")
    return [Part(float(gaps.var(ddof=1)) / len(gaps), len(gaps) - 1)]


def by_seed(sample: Sample) -> Array:
    """(seeds,) The values in the order of the seeds' numbers."""
    return np.asarray(sample.values, dtype=float)[np.argsort(sample.seeds, kind="stable")]


def items_part(first: Sample, second: Sample) -> Part:
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
    return Part(variance, min(2 * variance**2 / scatter, most) if scatter > 0 else most)


def interaction(first: Sample, second: Sample, paired: bool = False) -> float:
    """The variance that both parts contain; see `Sample.interaction`."""
    if not paired:
        return first.interaction + second.interaction
    assert first.effects is not None
    assert second.effects is not None
    orders = [np.argsort(sample.seeds, kind="stable") for sample in (first, second)]
    return residual_variance(first.effects[orders[0]] - second.effects[orders[1]])


def total(parts: Sequence[Part], shared: float = 0.0) -> tuple[float, float]:
    """The standard error and the degrees of freedom of a sum of variances, less what two of them share.

    The last part is that of the items where anything is shared. The sum never falls below the larger of the two
    sides. `shared` is an estimate of very many degrees of freedom, so it adds nothing to the uncertainty of the sum.
    """
    variances = [part.variance for part in parts]
    variance = math.fsum(variances)
    if shared:
        variance = max(variance - shared, math.fsum(variances[:-1]), variances[-1])
    return math.sqrt(variance), float(wary_freedom(variance, variances, [part.freedom for part in parts]))


def wary_freedom(total: Any, variances: Sequence[Any], freedoms: Sequence[Any]) -> Array:
    """The degrees of freedom of a variance that sums others; any number of cases at once.

    Satterthwaite's trust the measured shares of the parts. A spread of three seeds that came out small by chance then
    looks unimportant, and the interval covers as little as 87 % beside a variance over items. So each part counts as
    WARY / freedom larger when the degrees are taken; coverage is then within 92 and 97 %.
    """
    variances = [np.asarray(part) for part in variances]
    wary = [part * (1 + WARY / freedom) for part, freedom in zip(variances, freedoms, strict=True)]
    doubt = sum(part**2 / freedom for part, freedom in zip(wary, freedoms, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.asarray(total + sum(wary) - sum(variances)) ** 2 / np.asarray(doubt)
    return np.where(np.asarray(doubt) > 0, freedom, np.inf)


def half_width(error: float, freedom: float, alpha: float = 1 - CONFIDENCE) -> float:
    """Of the two-sided interval, at 95 % if not told."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - alpha / 2)) * error


def p_value(gain: float, error: float, freedom: float) -> float:
    """Two-sided. Where nothing varies, any difference is certain."""
    from scipy.special import stdtr

    if error == 0:
        return 1.0 if gain == 0 else 0.0
    return float(2 * stdtr(freedom, -abs(gain) / error))
