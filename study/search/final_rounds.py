"""The finals of a running study: their size, the finalists, and the trials that are still to run."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from reports.ledger import trial_key
from reports.ledger.finals import FIRST_FRESH_SEED
from search_spaces.limits import LIMITS, rounded_up
from study.search.budget import SLACK
from study.search.choice import PartScores, by_merit, by_part
from study.search.design import Explored
from study.search.finals import LEAST_SEARCH, FinalsRecipe, SearchFinals, rounds, seeds_of
from study.search.progress import StudyProgress
from study.trial import Trial
from trainables.recipe import Recipe

SOUPS_SHARE = 0.1

Fits = Callable[[Sequence[Recipe], Sequence[Sequence[str]]], bool]
"""Returns whether the limits have room for a trial of each recipe, and then for stages of recipe hashes."""


class FinalRounds:
    """Yields the trials of the finals, seed by seed."""

    def __init__(self, progress: StudyProgress) -> None:
        self.progress, self.design = progress, progress.design
        self.size: SearchFinals | None = self.design.finals
        """Size of the finals, smaller if a limit has no room for the usual size; None if there are no finals."""
        self.finalists: list[FinalsRecipe] | None = None
        """The finalists; None until they are chosen."""
        self._replaced: list[FinalsRecipe] = []  # finalists whose first seed would end after the limit
        self._attempt = -1, -1
        """The numbers of done and running trials at the last search for a finalist that ends in time."""

    def fit_size(self) -> None:
        """Fit the size of the finals into the rest of a limit. If not even the smallest finals fit, there are none, and
        base settings and original encoder are compared by their own trials. If these end sooner than was guessed from
        a part of the data, finals may fit after all."""
        usual = self.design.finals
        if usual is None or (self.size and self.size.keeps_size) or not self.progress.budget.limits:
            return
        if (rooms := self.rooms) is not None:
            self.size = usual.fit_to_limit(rooms, self.design.allows_parts)

    @property
    def rooms(self) -> float | None:
        """Number of trainings on all data that a limit has room for beside the rows; None while it is unknown."""
        progress, design = self.progress, self.design
        fixed = {trial.key for trial in design.fixed}
        rooms = progress.trainings([record for key, record in progress.done.items() if key not in fixed])
        if rooms is None:
            return None
        base = trial_key(design.base.hash, design.seeds[0])
        open_rows = sum(trial.row and trial.recipe.trains and trial.key not in progress.done for trial in design.fixed)
        return rooms - (open_rows if any(trial.key == base for trial in design.fixed) else 0)

    def least(self, name: str) -> float | None:
        """Return the smallest value of the limit `name` with room for a search on parts of the data. None if it has
        room now, if recipes have no parts, if the study has another limit, and while a training's cost is unknown."""
        budget, finals = self.progress.budget, self.design.finals
        if self.size is not None or finals is None or not self.design.allows_parts or len(budget.limits) > 1:
            return None
        rooms, cost = self.rooms, budget.guess(name, self.design.base.hash)
        if rooms is None or cost is None:
            return None
        needed = next(each for each in itertools.count(LEAST_SEARCH, 0.5) if finals.fit_to_limit(each, parts=True))
        places = budget.places if LIMITS[name].clock else 1
        return rounded_up(budget.limits[name] + SLACK * (needed - rooms) * cost / places)

    def coming_stages(self, picked: str | None) -> list[list[str]]:
        """Return recipe hashes in stages: trials of the finals to come, then trials after the finals. `picked`: the
        hash of every finalist that is not chosen yet; None: that of the base settings."""
        if self.size is None:
            return []
        base = self.design.base.hash
        open_now = [trial.recipe_hash for trial in self.open]
        finalists = [picked or base] * self.size.recipes * self.size.seeds if self.finalists is None else []
        return [[*open_now, *finalists], *self._stages_after(self.size)]

    def _stages_after(self, size: SearchFinals) -> list[list[str]]:
        """Return the stages after finals of that size: first the soups, each as costly as scoring the original
        encoder, if all of them take at most `SOUPS_SHARE` of the limits; then the learning curve."""
        untrained, base = size.untrained.hash, self.design.base.hash
        fixed = {trial.key for trial in self.design.fixed}
        searched = [record for key, record in self.progress.done.items() if key not in fixed]
        room = self.progress.budget.trainings(untrained, searched)
        soups = size.most_soups if room is not None and size.most_soups <= SOUPS_SHARE * room else 0
        return [[untrained] * soups, [base] * size.curve_trainings]

    def choose(self, explored: Mapping[str, Explored], by_parts: Sequence[PartScores], or_none: bool) -> None:
        """Choose the finalists, and the size of the finals. `or_none`: choosing no finalist is final, too."""
        size, finalists = self.choice(explored, by_parts, self.progress.fits)
        if finalists or or_none:
            self.size, self.finalists = size, finalists

    def replace_late(self, explored: Mapping[str, Explored], by_parts: Sequence[PartScores]) -> None:
        """Replace a single finalist if the limit would cut off its first seed: a training may take longer than was
        guessed from a part of the data. The next one is the best recipe on parts that has room. A replaced one comes
        back if its first seed ends before that of the next. No score under a fresh seed is used."""
        progress, finalists = self.progress, self.finalists or []
        if self.size is None or len(finalists) != 1 or not by_parts:
            return
        first = _first(finalists[0].recipe)
        if first.key in progress.done:
            return
        following = [each for each in self._replaced if _first(each.recipe).key in progress.done]
        attempt = len(progress.done), len(progress.running)
        if not following and progress.ends_late(first) and attempt != self._attempt:
            self._attempt = attempt
            following = by_part(by_parts, self.size, explored, self._may_replace)
        if following:
            self._replaced += finalists
            self.finalists = following[:1]

    def _may_replace(self, recipe: Recipe) -> bool:
        """Whether the first fresh seed of a recipe has ended, will end in time, or has room."""
        first, progress = _first(recipe), self.progress
        if progress.is_open(first):
            return self._has_room(recipe, progress.fits)
        return first.key in progress.done or (first.key in progress.running and not progress.ends_late(first))

    def choice(
        self, explored: Mapping[str, Explored], by_parts: Sequence[PartScores], fits: Fits
    ) -> tuple[SearchFinals, list[FinalsRecipe]]:
        """Return the size and the finalists: the best recipes on parts of the data; if there are none, on all of it.
        `explored` is keyed by hash; `by_parts` has the largest part first; `fits` returns whether recipes have room."""
        assert self.size is not None
        able = functools.partial(self._has_room, fits=fits)
        finalists = by_part(by_parts, self.size, explored, able)
        if not finalists:
            finalists = by_merit(self.progress, self.size, explored, able)
        return self._grown(finalists, fits)

    def _grown(self, finalists: list[FinalsRecipe], fits: Fits) -> tuple[SearchFinals, list[FinalsRecipe]]:
        """Return the size and the finalists with as many seeds as the limit has room for, up to the usual number. By
        now the cost of the finalists is known."""
        assert self.size is not None
        assert self.design.finals is not None
        for seeds in range(self.design.finals.seeds, self.size.seeds, -1):
            smaller = (self.size.recipes, seeds) != (self.design.finals.recipes, self.design.finals.seeds)
            size = dataclasses.replace(self.size, seeds=seeds, smaller=smaller)
            grown = [dataclasses.replace(each, seeds=seeds_of(each.recipe, seeds, False)) for each in finalists]
            trials = itertools.chain.from_iterable(entrant.trials for entrant in (*grown, *size.references))
            recipes = [trial.recipe for trial in trials if self.progress.is_open(trial)]
            if fits(recipes, self._stages_after(size)):
                return size, grown
        return self.size, finalists

    def trials(self) -> Iterator[Trial]:
        """Yield the trials of whole rounds, one seed per round, as long as the limits have room for a whole round.
        Before the finalists are chosen, a study with a limit runs only the first round."""
        early = self.finalists is None and self.progress.budget.limits
        groups = self._rounds[:1] if early else self._rounds
        for index, group in enumerate(groups):
            open_trials = [trial for trial in group if self.progress.is_open(trial)]
            if open_trials and not self.progress.fits([trial.recipe for trial in open_trials]):
                later = itertools.chain(*groups[index:])  # later seeds of only some recipes would be useless
                self.progress.left_out |= {trial.key: trial for trial in later if self.progress.is_open(trial)}
                return
            yield from open_trials

    @property
    def open(self) -> list[Trial]:
        """Trials of the finals that are known and have not begun."""
        return [trial for group in self._rounds for trial in group if self.progress.is_open(trial)]

    @property
    def unknown(self) -> int:
        """Largest number of trials of finalists that are not chosen yet."""
        return self.size.recipes * self.size.seeds if self.size and self.finalists is None else 0

    @property
    def _rounds(self) -> list[list[Trial]]:
        return rounds([*(self.finalists or ()), *(self.size.references if self.size else ())])

    def _has_room(self, recipe: Recipe, fits: Fits) -> bool:
        """Whether the limits have room for the first fresh seeds of the recipe and of the base settings."""
        own, base = _first(recipe), _first(self.design.base)
        left = [trial.recipe for trial in (own, base) if self.progress.is_open(trial)]
        return not self.progress.is_open(own) or fits(left, ())


def _first(recipe: Recipe) -> Trial:
    """Return the trial of a recipe under the first fresh seed."""
    return Trial(recipe, FIRST_FRESH_SEED, "")
