"""One figure of one recipe, with everything that makes it uncertain: its seeds, and the test items it was scored on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Sample:
    """A figure, in points, under every seed of a recipe.

    `effects` says how the figure would move with other test items. Its rows are seeds, its columns the items of all
    tasks that the figure is made of; they are scaled such that for any recipe, and for the difference of any two on
    the same items, the sum of squares of a row is the variance over items of that seed's figure. For an accuracy an
    item's effect is its hit minus the hit rate, over the number of items; for a correlation it is the item's influence.
    """

    values: Array  # (seeds,) points
    seeds: tuple[int, ...]
    fixed: bool = False
    """Every seed gives the same, as for an encoder that is evaluated as it is: no variance between seeds."""
    effects: Array | None = None  # (seeds, items); None where predictions were not kept
    items: str = ""
    """Names the items and their order: two samples pair item by item where these are equal and not empty."""

    @property
    def mean(self) -> float:
        """Over seeds."""
        return float(self.values.mean())

    @property
    def count(self) -> int:
        """Of seeds."""
        return len(self.values)

    @cached_property
    def std(self) -> float | None:
        """The sample standard deviation over seeds; None for one seed, and where no seed changes anything."""
        return None if self.fixed or self.count < 2 else float(self.values.std(ddof=1))

    @cached_property
    def effect(self) -> Array | None:
        """(items,) The effects of the mean over seeds."""
        return None if self.effects is None else np.asarray(self.effects.mean(axis=0))

    @cached_property
    def interaction(self) -> float:
        """The part of the variance over items of the mean that comes from each seed being right about other items.

        The spread between seeds holds it, too. Zero where no second seed tells it, and where seeds change nothing.
        """
        return 0.0 if self.effects is None or self.std is None else residual_variance(self.effects)


def residual_variance(effects: Array) -> float:
    """Of (seeds, items): the variance over items of the mean over seeds that comes from the seeds' own effects."""
    seeds = len(effects)
    return float(((effects - effects.mean(axis=0)) ** 2).sum()) / (seeds * (seeds - 1))


def pairable(first: Sample, second: Sample) -> bool:
    """Whether both were scored on the same items, in the same order."""
    return first.effects is not None and second.effects is not None and first.items == second.items != ""
