"""How many more seeds would settle what is undecided."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from reports.statistics import Sample
from reports.statistics.power import MOST_SEEDS, Spread, seeds_needed
from reports.statistics.sample import pairable
from reports.statistics.spreads import ALONE, Common

MOST = 20
"""More seeds than this are not proposed."""
POWER = 0.8
"""How surely the proposed seeds would settle what they are for."""
FIRST_SEEDS = 2
"""So many more are proposed where each row has one."""


def more_seeds(
    first: Sample, second: Sample, bound: float, alpha: float, spread: Spread | None, common: Common = ALONE
) -> float | None:
    """So many more seeds of both recipes would show at power 80 % that their difference is not `bound`.

    If it is as large as measured. `spread` is that between seeds, for recipes with one seed, and `common` what
    `compare` takes. Infinity where no number
    of seeds would do, since the test items are too few; None where nothing tells how far seeds scatter.
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
    """Of open gains or claims, how many more seeds than the study's own each needs. No more than `MOST` are proposed:
    what needs more is left open."""

    needed: Mapping[str, float | None] = field(default_factory=dict)
    """By name, as `more_seeds` gives it; 0 where the study only has to be finished."""
    losses: tuple[str, ...] = ()
    """Rows that are open, too, and measured no higher than the baseline: a loss is not worth proving."""

    @property
    def seeds(self) -> int | None:
        """One number for all that so many would settle; None where nothing is open, or no number would."""
        if self.needed and self.all_unknown:
            return FIRST_SEEDS
        return max((int(self.needed[name] or 0) for name in self.settled), default=None)

    @property
    def settled(self) -> tuple[str, ...]:
        """The names of what those seeds would settle."""
        return tuple(name for name, needed in self.needed.items() if needed is not None and needed <= MOST)

    @property
    def never(self) -> tuple[str, ...]:
        """What no number of seeds would settle, since the test items are too few."""
        return tuple(name for name, needed in self.needed.items() if needed == math.inf)

    @property
    def far(self) -> tuple[str, ...]:
        """What would need more than are proposed."""
        return tuple(name for name, needed in self.needed.items() if needed is not None and MOST < needed < math.inf)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Of which it is not known how far seeds scatter."""
        return tuple(name for name, needed in self.needed.items() if needed is None)

    @property
    def all_unknown(self) -> bool:
        """Whether all that is open has one seed."""
        return len(self.unknown) == len(self.needed)
