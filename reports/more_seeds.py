"""How many more seeds would settle what is undecided."""

from __future__ import annotations

import math
from collections.abc import Mapping

from reports.markdown import count
from reports.statistics import Sample
from reports.statistics.power import Spread, power, seeds_needed

MOST = 20
"""More seeds than this are not proposed."""
POWER = 0.8
"""How surely the proposed seeds would settle what they are for."""
FIRST_SEEDS = 2
"""So many more are proposed where each row has one."""


def more_seeds(first: Sample, second: Sample, bound: float, alpha: float, spread: Spread | None) -> float | None:
    """So many more seeds of both recipes would show at power 80 % that their difference is not `bound`.

    If it is as large as measured. `spread` is that between seeds, for recipes with one seed. Infinity where MOST more
    seeds would not do; None where nothing tells how far seeds scatter.
    """
    if spread is None and any(not sample.fixed for sample in (first, second)):
        return None
    trained = [sample.count for sample in (first, second) if not sample.fixed]
    effect = first.mean - second.mean - bound
    most = min(trained, default=0) + MOST
    if not trained or power(first, second, effect, most, alpha=alpha, spread=spread) < POWER:
        return math.inf
    needed = seeds_needed(first, second, effect, POWER, alpha=alpha, spread=spread)
    return math.inf if needed is None else max(1, needed - min(trained))


def in_words(more: Mapping[str, float | None], noun: str) -> tuple[int | None, str, tuple[str, ...]]:
    """Of undecided gains or claims, by name how many more seeds each needs: one number for them, what it would settle
    in words, and the names of what it would settle.

    No more than MOST seeds are proposed: what needs more is left undecided, and counted.
    """
    if not more:
        return None, "", ()
    if all(needed is None for needed in more.values()):
        seeds = FIRST_SEEDS
        said = (
            f"how far scores move from seed to seed is unknown; {count(seeds, 'more seed')} of each row would show it"
        )
        return seeds, f"No {noun} can be decided with one seed: {said}.", ()
    within = {name: int(needed) for name, needed in more.items() if needed is not None and needed <= MOST}
    which = f"the undecided {noun}" if len(more) == 1 else f"{len(within)} of {len(more)} undecided {noun}s"
    if not within:
        which = f"The undecided {noun} is" if len(more) == 1 else f"All {len(more)} undecided {noun}s are"
        return None, f"{which} too small for {MOST} more seeds of each row to settle, if as small as measured.", ()
    seeds = max(within.values())
    size = "if the differences are as large as measured (power 80 %)"
    said = f"{count(seeds, 'more seed')} of each row would settle {which}, {size}"
    if len(within) < len(more):
        said += f"; the others would need more than {MOST}"
    return seeds, f"{said}.", tuple(within)
