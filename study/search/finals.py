"""How a search ends: the best recipes run again under fresh seeds, beside what a person would use without a search.

The scores that chose a recipe flatter it. Only new random seeds tell what it gains over the base settings, over the
space's baseline and over the untrained encoder.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reports.facts.recipe_names import AS_IT_CAME, BASE
from reports.ledger import Finals, LearningCurve, fresh_seeds
from reports.ledger.finals import SHARES, SOUP_SHARES
from reports.statistics.finals import finalists_for
from reports.words.guards import listed
from study.rows import as_it_came
from study.search.ladder import LOOKS
from study.trial import Trial
from trainables.recipe import Recipe

OF_FINALS, LEAST_FINALS, LEAST_SEARCH = 1 - LOOKS, 2, 2.7
"""The share of what a limit leaves after the base settings that the finals may take; the trainings that they get in any
case where there is room for these and for some on a part of the data; and how many that are together."""


@dataclass(frozen=True)
class FinalsRecipe:
    """A recipe in the finals."""

    recipe: Recipe
    name: str
    seeds: Sequence[int]
    part: bool = False
    """Whether it is one on a part of its data."""

    @property
    def trials(self) -> list[Trial]:
        """Its final trials, by seed."""
        return [Trial(self.recipe, seed, self.name, part=self.part) for seed in self.seeds]


@dataclass(frozen=True)
class SearchFinals:
    """What the finals of a search are, but for the finalists."""

    recipes: int
    """How many finalists there are at most."""
    seeds: int
    """How many fresh seeds each of them has, and so have the base settings and the baseline."""
    base: Recipe
    rows: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """By the hash of a row that runs, its label."""
    baseline: Recipe | None = None
    """The space's; None where it has none, and where it does not run."""
    settled: bool = False
    """Whether they keep their size; else they are smaller where a limit has no room for them."""
    smaller: bool = False
    """Whether they are."""
    curve: bool = False
    """Whether they end with a learning curve."""
    soup: bool = False
    """Whether the models of the recipe to use are averaged after them."""

    @functools.cached_property
    def untrained(self) -> Recipe:
        """The untrained encoder: to know it reads files, and an agenda asks at every step."""
        return as_it_came(self.base)

    @functools.cached_property
    def beside(self) -> list[FinalsRecipe]:
        """What the finalists are compared with, each recipe once."""
        entrants: dict[str, FinalsRecipe] = {}
        for recipe, name, seeds in (
            (self.base, BASE, self.seeds),
            (self.untrained, AS_IT_CAME, 1),
            (self.baseline, "", self.seeds),
        ):
            if recipe is not None:
                row = self.rows.get(recipe.hash)
                entrant = FinalsRecipe(recipe, name or row or "", seeds_of(recipe, seeds, row is not None))
                entrants.setdefault(recipe.hash, entrant)
        return [*entrants.values()]

    @property
    def compared(self) -> frozenset[str]:
        """Hashes of the base settings and of the untrained encoder: neither is a finalist."""
        return frozenset({self.base.hash, self.untrained.hash})

    @property
    def trainings(self) -> int:
        """As many whole trainings as they cost, a learning curve with them."""
        beside = sum(len(entrant.seeds) for entrant in self.beside if entrant.recipe.trains)
        return self.recipes * self.seeds + beside + self.curve_trainings

    @property
    def curve_trainings(self) -> int:
        """As many whole trainings as a learning curve costs."""
        return math.ceil(self.seeds * math.fsum(SHARES.values())) if self.curve else 0

    @property
    def of_soup(self) -> int:
        """How many soups it scores at most."""
        return len(SOUP_SHARES) + self.seeds if self.soup else 0

    @property
    def of_curve(self) -> int:
        """How many trials its learning curve has at most."""
        return len(SHARES) * self.seeds if self.curve else 0

    def fitted(self, trainings: float, parts: bool) -> SearchFinals | None:
        """For good, into a limit that leaves room for so many trainings; `parts`: whether some may be on a part of the
        data. None where not even the smallest fit."""
        least = LEAST_FINALS if parts and trainings >= LEAST_SEARCH else 0
        sized = self.within(max(OF_FINALS * trainings, least))
        return dataclasses.replace(sized, settled=True) if sized else None

    def within(self, trainings: float) -> SearchFinals | None:
        """Those for which so many trainings are enough, without their learning curve where it leaves no room for them;
        None where there are none."""
        if self.trainings <= trainings:
            return self
        for most in range(min(self.trainings, int(trainings)), 1, -1):
            recipes, seeds = map(min, finalists_for(most), (self.recipes, self.seeds))
            sized = dataclasses.replace(self, recipes=recipes, seeds=seeds, smaller=True)
            if sized.trainings <= trainings:
                return sized
        return dataclasses.replace(self, curve=False).within(trainings) if self.curve else None

    def facts(self, finalists: Sequence[FinalsRecipe] | None = None, curve: LearningCurve | None = None) -> Finals:
        """As `study.json` keeps it. `curve`: once it is known."""
        return Finals(
            self.recipes,
            self.seeds,
            [entrant.recipe.hash for entrant in finalists or ()],
            self.base.hash,
            self.untrained.hash,
            self.baseline.hash if self.baseline else None,
            self.smaller,
            curve or LearningCurve() if self.curve else None,
            finalists is not None,
        )

    def in_words(self, finalists: int | None = None) -> str:
        """`1 recipe x 5 fresh seeds, beside the base settings (5) and the untrained encoder`."""
        count = self.recipes if finalists is None else finalists
        seeds = f"{self.seeds} fresh seed{'s' * (self.seeds != 1)}"
        return f"{count} recipe{'s' * (count != 1)} x {seeds}, beside {self.beside_in_words}"

    @property
    def beside_in_words(self) -> str:
        """`the base settings (5), SBERT baseline (5) and the untrained encoder`."""
        words = []
        for entrant in self.beside:
            row = entrant.recipe.hash in self.rows and entrant.name not in (BASE, AS_IT_CAME)
            seeds = f" ({len(entrant.seeds)})" if len(entrant.seeds) > 1 else ""
            words.append(f"{'' if row else 'the '}{entrant.name}{seeds}")
        return listed(words)


def rounds(entrants: Sequence[FinalsRecipe]) -> list[list[Trial]]:
    """Their trials, seed by seed and each recipe once: a study that is cut short has equally many of each."""
    once = list({entrant.recipe.hash: entrant for entrant in reversed(entrants)}.values())[::-1]
    groups = itertools.zip_longest(*(entrant.trials for entrant in once))
    return [[trial for trial in group if trial is not None] for group in groups]


def seeds_of(recipe: Recipe, count: int, row: bool) -> Sequence[int]:
    """Its seeds in the finals. A recipe that no seed changes runs once, or not again where it is a `row`."""
    return fresh_seeds(count if recipe.uses_seed else 0 if row else 1)
