"""What an analysis of importance found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from reports.importance.chance import SUBSETS
from reports.importance.curve import KeyCurve

LEVEL = 0.05
"""The chance that any key is said to be above noise where none is; the same of pairs."""


@dataclass(frozen=True)
class Share:
    """A part of the scores' spread out of sample: 0.3 is 30 %."""

    value: float
    error: float
    p: float
    """How often chance gives as much."""

    @property
    def above(self) -> bool:
        """Whether it is above noise."""
        return self.p <= LEVEL and self.value > 0

    @property
    def interval(self) -> tuple[float, float]:
        """At 95 %."""
        from scipy.special import stdtrit

        width = float(stdtrit(SUBSETS - 1, 0.975)) * self.error
        return self.value - width, min(self.value + width, 1.0)


@dataclass(frozen=True)
class Effect:
    """A key, or two keys together beyond their sum. Its p counts any key, or any pair, that chance makes as strong."""

    keys: tuple[str, ...]
    share: Share
    recipes: int
    """How many recipes were asked for it."""


@dataclass(frozen=True)
class Importance:
    """Effects stand strongest first."""

    recipes: int
    explained: Share
    """R2 of held-out recipes; below zero where the fit is worse than the mean."""
    keys: tuple[Effect, ...]
    pairs: tuple[Effect, ...]
    """Empty where nothing at all is above noise."""
    curves: tuple[KeyCurve, ...]
    """Of the keys above noise."""

    @cached_property
    def above(self) -> tuple[Effect, ...]:
        """The keys above noise."""
        return tuple(effect for effect in self.keys if effect.share.above)
