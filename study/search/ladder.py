"""The parts of the data that recipes begin on if a limit has no room for whole trainings of many recipes."""

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
"""One in this many recipes on a part of the data goes on to a larger part."""
FIRST, LARGER, WHOLE = (0.125, 0.25, 0.5), 0.5, 1.0
"""The shares of the data that recipes may begin on, and the two larger shares that the best recipes may go on to."""
STEPS, RECIPES = 4, 16
"""A share of the data is large enough if a training with the base settings has `STEPS` steps on it. If the base
settings do not gain on `Ladder.PROBE`, only `LARGER` is large enough: on less, less training would always look better.
A share above 1/8 needs room for `RECIPES` recipes; if no share is large enough, the largest with room is taken."""
RESERVED_TRAININGS = 3.0
"""Number of trainings on all data that must have room beside recipes on parts: of base settings and smallest finals."""
LARGER_FROM, WHOLE_FROM = 24.0, 48.0
"""If a limit has room for `LARGER_FROM` trainings on all data, the best recipes go on from the first part to the larger
part; with room for `WHOLE_FROM`, they go on to all of the data."""
ABREAST = 8
"""More places than this count as this many: they run more recipes at once, but no more of them one after another."""
PARTS_SHARE = 0.5
"""The share of a limit that recipes on parts of the data may take; the rest is for the finals."""


@dataclass(frozen=True)
class Ladder:
    """Shares of the data that recipes train on one after another, the smallest first; empty without parts."""

    shares: tuple[float, ...] = ()
    PROBE: ClassVar[float] = 0.125
    """The share that the base settings train on first, to measure the cost of a training."""

    @property
    def first_share(self) -> float:
        """The share of the data that recipes begin on."""
        return self.shares[0] if self.shares else WHOLE

    def first(self, recipe: Recipe) -> Recipe:
        """Return the recipe on the share of its data that recipes begin on."""
        return (on_part(recipe, self.shares[0]) if self.shares else None) or recipe


def on_part(recipe: Recipe, share: float) -> Recipe | None:
    """Return the recipe on that share of its data; None if its data cannot be cut."""
    whole = recipe.flat().get(SHARE)
    return recipe.override({SHARE: share * whole}) if isinstance(whole, int | float) else None


def can_run(recipe: Recipe, evaluation: EvaluationConfig, share: float) -> bool:
    """Whether the recipe can train on that share of its data, as far as can be known before it trains."""
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
    """Return the ladder for a limit with room for this many trainings on all data. `shares`: values of `corpus.share`
    that recipes of this study had before; a continued study keeps them. `steps`: the steps of the base settings on
    `PROBE`; `gains`: whether they beat the original encoder there; None: unknown."""
    whole = base.flat()[SHARE]
    assert isinstance(whole, int | float)
    before = [share for share in (*FIRST, WHOLE) if share * whole in shares]
    abreast = trainings * min(1.0, ABREAST / places)
    for_recipes = (abreast - RESERVED_TRAININGS - Ladder.PROBE) / (
        1 + RECIPES
    )  # + 1: the base settings train on that part, too
    for_rounds = (trainings / places - 1 - Ladder.PROBE) / 2  # two on parts one after another, then a whole training
    fitting = [share for share in FIRST if share <= max(min(for_recipes, for_rounds), Ladder.PROBE)]
    telling = fitting if gains is not False else [share for share in fitting if share >= LARGER]
    large = (share for share in telling if steps is None or steps * share / Ladder.PROBE >= STEPS)
    first = before[0] if before else next(large, fitting[-1])
    usual = WHOLE if abreast >= WHOLE_FROM else LARGER if abreast >= LARGER_FROM else first
    larger = before[-1] if len(before) > 1 else usual
    return Ladder((first, larger) if first < min(larger, LARGER) else (first,))
