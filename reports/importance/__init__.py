"""Hyperparameter importance: a cross-validated forest, and a test of its findings against chance.

    found = importance(space.domains, [(recipe, score), ...])
    for effect in found.keys:
        print(effect.key, effect.share.value, effect.share.p, effect.share.above)

Chance is measured by the same analysis of shuffled scores: of 100 studies without any effect at most five name a key,
for any number of keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reports.importance.chance import SUBSETS, errors, family_p, one_p, under_chance
from reports.importance.coding import NOT_APPLICABLE, Coded
from reports.importance.curve import KeyCurve, curves
from reports.importance.forest import Folds
from search_spaces.space import Domain
from trainables.recipe import Value

__all__ = ["LEVEL", "MIN_RECIPES", "Effect", "Importance", "KeyCurve", "Share", "importance"]

MIN_RECIPES = 20
"""Smallest number of recipes for an analysis: with fewer, a fold has less than four recipes, too few to judge a fit."""
LEVEL = 0.05
"""Highest probability that any key is reported as above noise if no key has an effect."""


@dataclass(frozen=True)
class Share:
    """A share of the scores' variance, out of sample: 0.3 is 30 %."""

    value: float
    error: float
    p: float
    """The p-value: how often shuffled scores give at least this value."""

    @property
    def above(self) -> bool:
        """Whether the share is above noise."""
        return self.p <= LEVEL and self.value > 0

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the 95 % interval of the share."""
        from scipy.special import stdtrit

        width = float(stdtrit(SUBSETS - 1, 0.975)) * self.error
        return self.value - width, min(self.value + width, 1.0)


@dataclass(frozen=True)
class Effect:
    """A key and its share of the scores' variance. The share's p counts how often chance makes any key as strong."""

    key: str
    share: Share
    recipes: int
    """Number of recipes to which the key applies."""


@dataclass(frozen=True)
class Importance:
    """The result of the analysis. `keys`: the effects of all keys, the strongest first."""

    recipes: int
    explained: Share
    """R2 of the forest on held-out recipes; below zero if the forest is worse than the mean score."""
    keys: tuple[Effect, ...]
    curves: tuple[KeyCurve, ...]
    """The score over each key that is above noise."""

    @cached_property
    def above(self) -> tuple[Effect, ...]:
        """The keys above noise."""
        return tuple(effect for effect in self.keys if effect.share.above)


def importance(domains: Sequence[Domain], scored: Sequence[tuple[Mapping[str, Value], float]]) -> Importance | None:
    """Return the share of each key in the scores of these flat recipes. None if nothing varies, or below `MIN_RECIPES`.

    Equal recipes and scores give equal results. The analysis takes some seconds.
    """
    if len(scored) < MIN_RECIPES:
        return None
    recipes, scores = [recipe for recipe, _ in scored], np.array([float(score) for _, score in scored])
    coded = Coded.of(domains, recipes)
    if not coded.keys or not np.ptp(scores):
        return None
    folds = Folds(coded)
    whole, error = folds.cross_validate(scores), errors(folds, scores)
    shuffled = under_chance(folds, scores)
    explained_p = one_p(whole.explained, [other.explained for other in shuffled])
    key_p = family_p(whole.shares, np.array([other.shares for other in shuffled]))
    in_use = (coded.values != NOT_APPLICABLE).sum(axis=0)
    keys = [
        Effect(key, Share(float(whole.shares[n]), float(error[1 + n]), float(key_p[n])), int(in_use[n]))
        for n, key in enumerate(coded.keys)
    ]
    above = [n for n, effect in enumerate(keys) if effect.share.above]
    tried = [[recipe.get(key) for recipe in recipes] for key in coded.keys]
    return Importance(
        recipes=len(scores),
        explained=Share(whole.explained, float(error[0]), explained_p),
        keys=tuple(sorted(keys, key=lambda effect: (-effect.share.value, effect.key))),
        curves=curves(folds, sorted(above, key=lambda n: -keys[n].share.value), scores, tried),
    )
