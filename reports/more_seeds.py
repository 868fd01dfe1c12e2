"""How many more seeds would settle what is undecided."""

from __future__ import annotations

import math
from collections.abc import Mapping

from reports.markdown import count
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


def in_words(more: Mapping[str, float | None], noun: str) -> tuple[int | None, str, tuple[str, ...]]:
    """Of open gains or claims, by name how many more seeds than the study's own each needs: one number for them, what
    it would settle in words, and the names of what it would settle.

    0 where the study only has to be finished. No more than MOST seeds are proposed: what needs more is left open, and
    counted.
    """
    if not more:
        return None, "", ()
    if all(needed is None for needed in more.values()):
        seeds = FIRST_SEEDS
        shown = (
            f"how far scores move from seed to seed is unknown; {count(seeds, 'more seed')} of each row would show it"
        )
        return seeds, f"No {noun} can be decided with one seed: {shown}.", ()
    within = {name: int(needed) for name, needed in more.items() if needed is not None and needed <= MOST}
    limited = sum(needed == math.inf for needed in more.values())
    far = sum(needed is not None and MOST < needed < math.inf for needed in more.values())
    unknown = sum(needed is None for needed in more.values())
    said = []
    if within:
        which = _which(len(within), len(more), noun)
        doing = "finishing the study" if max(within.values()) == 0 else _more(max(within.values()))
        said.append(f"{doing} would settle {which}, if as large as measured (power 80 %)")
    if limited:
        which = _which(limited, len(more), noun).replace("all ", "any of the ")
        said.append(
            f"no number of seeds would settle {which}, if as small as measured: the test items are too few, and only "
            "a larger test set would help"
        )
    if far:
        said.append(f"{_which(far, len(more), noun)} would need more than {MOST} more seeds, if as small as measured")
    if unknown:
        said.append(f"what {_which(unknown, len(more), noun)} would need is unknown, since seeds are missing")
    return max(within.values(), default=None), f"{'; '.join(said)}.", tuple(within)


def _more(seeds: int) -> str:
    return f"{count(seeds, 'more seed')} of each row"


def _which(some: int, every: int, noun: str) -> str:
    """`the open gain`, `2 of 3 open gains`, `all 3 open gains`."""
    if every == 1:
        return f"the open {noun}"
    return f"all {every} open {noun}s" if some == every else f"{some} of {every} open {noun}s"
