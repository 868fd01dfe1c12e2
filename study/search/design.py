"""Inputs of an agenda: the design of a study, explored recipes, and the `Explorer` that chooses recipes to explore."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from reports.ledger import Record
from search_spaces.goals import Goal
from study.search.finals import SearchFinals
from study.trial import Trial
from trainables.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class StudyDesign:
    """The trials that a study plans, before any has run."""

    fixed: Sequence[Trial]
    """Trials of the rows, then of the grid; all seeds of a recipe follow one another."""
    base: Recipe
    goals: tuple[Goal, ...]
    seeds: Sequence[int] = (0,)
    """Seeds of every explored recipe."""
    recipes: int = 0
    """Largest number of explored recipes."""
    finals: SearchFinals | None = None
    allows_parts: bool = False
    """Whether recipes may begin on a part of the data."""
    first_decides: bool = False
    """Whether an explored recipe gets its further seeds only if the trial of its first seed finished."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """Limits by name. Limits of single trials decide which recipes may be finalists."""


@dataclass(frozen=True)
class Explored:
    """A recipe that a search has asked for."""

    recipe: Recipe
    name: str


class Explorer(Protocol):
    """Chooses the recipes that are explored."""

    proposed: list[Explored]
    """Recipes in the order in which the search asked for them, including earlier runs."""
    explored: list[str]
    """Hashes of all recipes that the search ever asked for, even of recipes that a changed space no longer contains."""

    def ask(self, share: float) -> Explored | None:
        """Return the next recipe, which will first train on this share of its data, and add it to `explored`. None if
        the recipe runs already, or if no recipe can run."""

    def tell(self, recipe_hash: str, seed: int, record: Record | None) -> None:
        """Take the record of a trial of a recipe that `ask` returned; None: the trial failed."""

    def tell_row(self, recipe: Recipe, name: str, records: Sequence[Record | None]) -> None:
        """Take the records of all trials of a recipe that `ask` did not return, such as a row."""

    def has_more(self) -> bool:
        """Whether `ask` may return a further recipe."""
