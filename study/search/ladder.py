"""On which parts of its data a recipe begins, where a limit has no room for whole trainings of many."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from reports.ledger.finals import SHARE
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.trial import check_recipes

RATIO = 3
"""Of so many recipes on a part of the data one goes on."""
FIRST, LARGER, WHOLE = (0.125, 0.25, 0.5), 0.5, 1.0
"""The shares of the data that recipes begin on, and those that the best go on to."""
STEPS, RECIPES = 4, 16
"""A share is large enough where a training with the base settings has so many steps on it; where these do not gain on
`Ladder.PROBE`, from `LARGER` on: else training less always looks better. One above an eighth is taken only where there
is room for so many recipes on it, else the largest that there is room for."""
BESIDE = 3.0
"""Whole trainings beside recipes on parts: of the base settings, and of the smallest finals."""
LARGER_FROM, WHOLE_FROM = 24.0, 48.0
"""With room for so many whole trainings the best go on to the larger part, or to all of the data."""
ABREAST = 8
"""More places than these let more recipes run at once, but no more of them one after another: they count as so many."""
LOOKS = 0.5
"""Of a limit, what recipes on parts of the data may take; the rest is for the finals."""


@dataclass(frozen=True)
class Ladder:
    """Shares of the data, the smallest first; none where recipes train on all of it at once."""

    parts: tuple[float, ...] = ()
    PROBE: ClassVar[float] = 0.125
    """The share that the base settings train on first, to know the pace."""

    @property
    def first_share(self) -> float:
        """Of the data, on which recipes begin."""
        return self.parts[0] if self.parts else WHOLE

    def first(self, recipe: Recipe) -> Recipe:
        """What begins the exploration of a recipe."""
        return (on_part(recipe, self.parts[0]) if self.parts else None) or recipe


def on_part(recipe: Recipe, share: float) -> Recipe | None:
    """The recipe on that share of its data; None where its data cannot be cut."""
    whole = recipe.flat().get(SHARE)
    return recipe.override({SHARE: share * whole}) if isinstance(whole, int | float) else None


def can_run(recipe: Recipe, evaluation: EvaluationConfig, share: float) -> bool:
    """Whether so much of its data can train it, as far as that is known before a training."""
    first = on_part(recipe, share) if share < WHOLE else None
    try:
        check_recipes([first or recipe], evaluation)
    except UserError:
        return False
    return True


def ladder_for(
    trainings: float,
    places: int,
    base: Recipe,
    shares: Collection[object],
    steps: float | None,
    gains: bool | None = None,
) -> Ladder:
    """By how many whole trainings there is room for. `shares`: of the data, on which recipes of this study were before:
    one that goes on keeps to them. Of the base settings on `PROBE`, where known: `steps`, and whether they `gain` over
    the untrained encoder."""
    whole = base.flat()[SHARE]
    assert isinstance(whole, int | float)
    before = [share for share in (*FIRST, WHOLE) if share * whole in shares]
    abreast = trainings * min(1.0, ABREAST / places)
    for_recipes = (abreast - BESIDE - Ladder.PROBE) / (1 + RECIPES)  # the base settings train on that part, too
    for_rounds = (trainings / places - 1 - Ladder.PROBE) / 2  # two one after another, then a whole training
    fitting = [share for share in FIRST if share <= max(min(for_recipes, for_rounds), Ladder.PROBE)]
    telling = fitting if gains is not False else [share for share in fitting if share >= LARGER]
    large = (share for share in telling if steps is None or steps * share / Ladder.PROBE >= STEPS)
    first = before[0] if before else next(large, fitting[-1])
    usual = WHOLE if abreast >= WHOLE_FROM else LARGER if abreast >= LARGER_FROM else first
    larger = before[-1] if len(before) > 1 else usual
    return Ladder((first, larger) if first < min(larger, LARGER) else (first,))
