"""The finals of a search: the best recipes run again under fresh seeds, and so do the recipes that they are compared
with.

The scores by which a recipe was chosen are too high. Only fresh seeds show its gain over the base settings, over the
space's baseline and over the original encoder.
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
from reports.ledger.finals import CURVE_SHARES, SOUP_SHARES
from reports.statistics.finals import finalists_for
from reports.words.guards import listed
from study.rows import as_it_came
from study.search.ladder import PARTS_SHARE
from study.trial import Trial
from trainables.recipe import Recipe

FINALS_SHARE, LEAST_FINALS, LEAST_SEARCH = 1 - PARTS_SHARE, 2, 2.7
"""Of the trainings that a limit leaves after those of the base settings, finals may take the share `FINALS_SHARE`, but
at least `LEAST_FINALS` trainings if there are `LEAST_SEARCH`: enough for these and some on a part."""


@dataclass(frozen=True)
class FinalsRecipe:
    """A recipe in the finals."""

    recipe: Recipe
    name: str
    seeds: Sequence[int]
    part: bool = False
    """Whether the recipe trains on a part of its data."""

    @property
    def trials(self) -> list[Trial]:
        """Trials of the recipe in the finals, one per seed."""
        return [Trial(self.recipe, seed, self.name, part=self.part) for seed in self.seeds]


@dataclass(frozen=True)
class SearchFinals:
    """Size of the finals of a search, and all recipes in them except the finalists."""

    recipes: int
    """Largest number of finalists."""
    seeds: int
    """Number of fresh seeds of each finalist, of the base settings and of the baseline."""
    base: Recipe
    rows: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Labels of the rows that run, by recipe hash."""
    baseline: Recipe | None = None
    """The space's baseline; None if there is none, or if it does not run."""
    keeps_size: bool = False
    """Whether the size is final. Otherwise it shrinks if a limit has no room for the finals."""
    smaller: bool = False
    """Whether the size is smaller than usual."""
    curve: bool = False
    """Whether a learning curve follows the finals."""
    soup: bool = False
    """Whether the models of the recipe to use are averaged after the finals."""

    @functools.cached_property
    def untrained(self) -> Recipe:
        """The original encoder as a recipe; cached, as files are read for it, and an agenda needs it at every step."""
        return as_it_came(self.base)

    @functools.cached_property
    def references(self) -> list[FinalsRecipe]:
        """The recipes that finalists are compared with, each once: base settings, original encoder and baseline."""
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
    def excluded(self) -> frozenset[str]:
        """Hashes of the base settings and of the original encoder, which cannot be finalists."""
        return frozenset({self.base.hash, self.untrained.hash})

    @property
    def trainings(self) -> int:
        """Cost of the finals and their learning curve, as a number of trainings on all data."""
        references = sum(len(entrant.seeds) for entrant in self.references if entrant.recipe.trains)
        return self.recipes * self.seeds + references + self.curve_trainings

    @property
    def curve_trainings(self) -> int:
        """Cost of the learning curve, as a number of trainings on all data."""
        return math.ceil(self.seeds * math.fsum(CURVE_SHARES.values())) if self.curve else 0

    @property
    def most_soups(self) -> int:
        """Largest number of soups that are scored."""
        return len(SOUP_SHARES) + self.seeds if self.soup else 0

    @property
    def most_curve_trials(self) -> int:
        """Largest number of trials of the learning curve."""
        return len(CURVE_SHARES) * self.seeds if self.curve else 0

    def fit_to_limit(self, trainings: float, parts: bool) -> SearchFinals | None:
        """Return the finals in the size that a limit with room for this many trainings allows; they keep that size.
        None if not even the smallest finals fit. `parts`: whether recipes may train on a part of the data first."""
        least = LEAST_FINALS if parts and trainings >= LEAST_SEARCH else 0
        sized = self.shrink_to(max(FINALS_SHARE * trainings, least))
        return dataclasses.replace(sized, keeps_size=True) if sized else None

    def shrink_to(self, trainings: float) -> SearchFinals | None:
        """Return the largest finals that cost at most this many trainings; None if there are none. The learning curve
        is left out if the finals have no room beside it."""
        if self.trainings <= trainings:
            return self
        for most in range(min(self.trainings, int(trainings)), 1, -1):
            recipes, seeds = map(min, finalists_for(most), (self.recipes, self.seeds))
            sized = dataclasses.replace(self, recipes=recipes, seeds=seeds, smaller=True)
            if sized.trainings <= trainings:
                return sized
        return dataclasses.replace(self, curve=False).shrink_to(trainings) if self.curve else None

    def facts(self, finalists: Sequence[FinalsRecipe] | None = None, curve: LearningCurve | None = None) -> Finals:
        """Return the finals as `study.json` stores them. `finalists` and `curve`: None until they are known."""
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
        """Return `1 recipe x 5 fresh seeds, beside the base settings (5) and the original encoder`."""
        count = self.recipes if finalists is None else finalists
        seeds = f"{self.seeds} fresh seed{'s' * (self.seeds != 1)}"
        return f"{count} recipe{'s' * (count != 1)} x {seeds}, beside {self.references_in_words}"

    @property
    def references_in_words(self) -> str:
        """The `references` in words: `the base settings (5), SBERT baseline (5) and the original encoder`."""
        words = []
        for entrant in self.references:
            row = entrant.recipe.hash in self.rows and entrant.name not in (BASE, AS_IT_CAME)
            seeds = f" ({len(entrant.seeds)})" if len(entrant.seeds) > 1 else ""
            words.append(f"{'' if row else 'the '}{entrant.name}{seeds}")
        return listed(words)


def rounds(entrants: Sequence[FinalsRecipe]) -> list[list[Trial]]:
    """Return one list of trials per seed, each recipe once: a study that is cut short has equal numbers of seeds."""
    once = list({entrant.recipe.hash: entrant for entrant in reversed(entrants)}.values())[::-1]
    groups = itertools.zip_longest(*(entrant.trials for entrant in once))
    return [[trial for trial in group if trial is not None] for group in groups]


def seeds_of(recipe: Recipe, count: int, row: bool) -> Sequence[int]:
    """Return the seeds of a recipe in the finals. A recipe that uses no seed runs once; not again if it is a `row`."""
    return fresh_seeds(count if recipe.uses_seed else 0 if row else 1)
