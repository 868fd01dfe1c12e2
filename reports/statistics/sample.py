"""One figure of one recipe, with its two sources of uncertainty: the seeds and the test items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Sample:
    """A figure of one recipe, in points, under every seed.

    `effects` is how the figure would change with other test items. Rows are seeds; columns are the items of all tasks
    of the figure. The sum of squares of a row is the variance over items of that seed's figure, and the same holds for
    the difference of two recipes on the same items. For an accuracy an item's effect is its hit minus the hit rate,
    divided by the number of items; for a correlation it is the item's influence.
    """

    values: Array  # (seeds,) points
    seeds: tuple[int, ...]
    fixed: bool = False
    """Whether every seed gives the same value, as for the original encoder: no variance between seeds."""
    effects: Array | None = None  # (seeds, items); None where predictions were not kept
    items: str = ""
    """Name of the items and their order. Two samples pair item by item if their names are equal and not empty."""

    @property
    def mean(self) -> float:
        """The figure's mean over seeds."""
        return float(self.values.mean())

    @property
    def count(self) -> int:
        """Number of seeds."""
        return len(self.values)

    @cached_property
    def std(self) -> float | None:
        """Sample standard deviation over seeds; None for one seed and for a fixed sample."""
        return None if self.fixed or self.count < 2 else float(self.values.std(ddof=1))

    @cached_property
    def effect(self) -> Array | None:
        """(items,) Effects of the items on the mean over seeds."""
        return None if self.effects is None else np.asarray(self.effects.mean(axis=0))

    @cached_property
    def interaction(self) -> float:
        """The part of the mean's variance over items that comes from seeds that are right about different items.

        The variance over seeds contains this part, too. Zero without effects, for one seed and for a fixed sample.
        """
        return 0.0 if self.effects is None or self.std is None else residual_variance(self.effects)


def residual_variance(effects: Array) -> float:
    """Return the part of the mean's variance over items that comes from the seeds' own (seeds, items) effects."""
    seeds = len(effects)
    return float(((effects - effects.mean(axis=0)) ** 2).sum()) / (seeds * (seeds - 1))


def pairable(first: Sample, second: Sample) -> bool:
    """Whether both samples were scored on the same items, in the same order."""
    return first.effects is not None and second.effects is not None and first.items == second.items != ""
