"""What an agenda is made of: the course of a study, the recipes that are explored, and who chooses them."""

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
class StudyCourse:
    """What a study sets out to do."""

    fixed: Sequence[Trial]
    """The rows, then the grid, all seeds of a recipe together."""
    base: Recipe
    goals: tuple[Goal, ...]
    seeds: Sequence[int] = (0,)
    """Of every explored recipe."""
    recipes: int = 0
    """That are explored at most."""
    finals: SearchFinals | None = None
    parts: bool = False
    """Whether recipes may begin on a part of the data."""
    first_decides: bool = False
    """Whether an explored recipe gets its further seeds only where its first one came to its end."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """By name; those of single trials say which recipes may be in the finals."""


@dataclass(frozen=True)
class Explored:
    """A recipe that a search has asked for."""

    recipe: Recipe
    name: str


class Explorer(Protocol):
    """What chooses the recipes that are explored."""

    proposed: list[Explored]
    """In order, those of earlier runs included."""
    explored: list[str]
    """Hashes of all that it ever asked for: also of what its space does not hold any more."""

    def ask(self, share: float) -> Explored | None:
        """The next recipe, which begins on so much of its data, and is in `explored` from then on; None where it is one
        that still runs, or there is none that can run."""

    def tell(self, recipe_hash: str, seed: int, record: Record | None) -> None:
        """What became of a trial of a recipe that was asked for; None: it failed."""

    def tell_row(self, recipe: Recipe, name: str, records: Sequence[Record | None]) -> None:
        """What became of all trials of a recipe that was not asked for."""

    def has_more(self) -> bool:
        """Whether it would give another recipe."""
