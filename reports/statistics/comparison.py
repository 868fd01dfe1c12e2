"""One recipe against another: how much better it is, how sure that is, and on what it rests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reports.statistics.sample import Sample

Basis = Literal["seeds and items", "items only", "seeds only", "none"]
"""What the interval counts: `items only` with one seed, `seeds only` where predictions were not kept."""


@dataclass(frozen=True)
class Comparison:
    """`first` minus `second` in points, with its 95 % interval. What is unknown is None."""

    gain: float
    low: float | None
    high: float | None
    p: float | None
    """Two-sided, of no difference, for this one comparison."""
    freedom: float | None
    """Satterthwaite's degrees of freedom."""
    error: float | None
    """The standard error in points."""
    seeds_variance: float | None
    items_variance: float | None
    basis: Basis
    seeds: tuple[int, int]
    """How many of each."""
    paired: bool = False
    """Whether the seeds were paired."""

    @property
    def one_seed(self) -> bool:
        """Whether a trained recipe has one seed only, so that nothing can be said about the recipe."""
        return self.basis in ("items only", "none")


def compare(first: Sample, second: Sample, *, paired: bool = False) -> Comparison:
    """Welch's variance over seeds plus the paired variance over test items, with Satterthwaite's degrees."""
    raise NotImplementedError
