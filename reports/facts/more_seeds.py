"""The number of further seeds that would settle undecided gains and claims."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from reports.statistics import Sample
from reports.statistics.power import MOST_SEEDS, Spread, seeds_needed
from reports.statistics.sample import pairable
from reports.statistics.spreads import NO_COMMON_SPREAD, CommonSpread

MAX_FURTHER_SEEDS = 20
"""Largest number of further seeds per recipe that is proposed."""
POWER = 0.8
"""Probability with which the proposed seeds settle a gain or a claim."""
FIRST_SEEDS = 2
"""Number of further seeds that is proposed if each row has one seed."""


def more_seeds(
    first: Sample,
    second: Sample,
    bound: float,
    alpha: float,
    spread: Spread | None,
    common: CommonSpread = NO_COMMON_SPREAD,
) -> float | None:
    """Return how many more seeds of both recipes would show at power 80 % that their difference is not `bound`.

    The true difference is assumed to be as measured. `spread`: over seeds, for recipes with one seed; `common` as in
    `compare`. Infinity if no number of seeds is enough, since test items are too few; None if the spread is unknown.
    """
    if spread is None and any(not sample.fixed for sample in (first, second)):
        return None
    trained = [sample.count for sample in (first, second) if not sample.fixed]
    if not trained:
        return math.inf
    gap = first.mean - second.mean - bound
    needed = seeds_needed(first, second, gap, POWER, alpha=alpha, spread=spread, common=common)
    if needed is None:
        return math.inf if pairable(first, second) else MOST_SEEDS
    return max(1, needed - min(trained))


@dataclass(frozen=True)
class SeedsWanted:
    """How many more seeds than the study's own each undecided gain or claim needs. At most `MAX_FURTHER_SEEDS` are
    proposed: gains and claims that need more stay undecided."""

    needed: Mapping[str, float | None] = field(default_factory=dict)
    """By name of the gain or claim, the result of `more_seeds`; 0 if the study only has to be finished."""
    losses: tuple[str, ...] = ()
    """Other undecided rows, which measured no higher than the baseline: a loss is not worth proving."""

    @property
    def seeds(self) -> int | None:
        """Number of further seeds to propose: enough for all of `settled`, `FIRST_SEEDS` if `all_unknown`, or None."""
        if self.needed and self.all_unknown:
            return FIRST_SEEDS
        return max((int(self.needed[name] or 0) for name in self.settled), default=None)

    @property
    def settled(self) -> tuple[str, ...]:
        """Names of gains or claims that `seeds` further seeds would settle."""
        return tuple(name for name, needed in self.needed.items() if needed is not None and needed <= MAX_FURTHER_SEEDS)

    @property
    def never(self) -> tuple[str, ...]:
        """Names of gains or claims that no number of seeds would settle, because test items are too few."""
        return tuple(name for name, needed in self.needed.items() if needed == math.inf)

    @property
    def far(self) -> tuple[str, ...]:
        """Names of gains or claims that need more seeds than `MAX_FURTHER_SEEDS`."""
        return tuple(
            name for name, needed in self.needed.items() if needed is not None and MAX_FURTHER_SEEDS < needed < math.inf
        )

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of gains or claims for which the spread over seeds is unknown."""
        return tuple(name for name, needed in self.needed.items() if needed is None)

    @property
    def all_unknown(self) -> bool:
        """Whether the spread over seeds is unknown for all undecided gains and claims."""
        return len(self.unknown) == len(self.needed)
