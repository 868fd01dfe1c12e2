"""How good a search is: what it picks against what the whole record would give, over its trials, time and compute.

A recipe's true value is the mean of its test scores at the end over all its recorded seeds. A search sees development
scores of its own seeds only. With one goal it picks the finished recipe with the highest mean of them, and what counts
is the regret: how much the pick's true value lies below that of the recipe which the whole record would pick. With two
goals it finds a front, those finished recipes that no other one beats in both development means, and what counts is
the hypervolume of their true values above a reference point, as a share of the whole record's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reports.statistics.fronts import on_front
from study.replay.recorded import Recorded
from study.replay.simulate import History
from trainables.errors import UserError

MOST_GOALS = 2
"""The hypervolume is that of a plane."""


@dataclass(frozen=True, eq=False)
class Yardstick:
    """What all searches on a record are measured by."""

    recorded: Recorded

    def __post_init__(self) -> None:
        if len(self.recorded.goals) > MOST_GOALS:
            raise UserError(f"a replay measures one goal or two, not {len(self.recorded.goals)}; choose with --goals")
        if not self._complete.any():
            raise UserError("no recorded recipe was run to its end with scores for every goal")

    @functools.cached_property
    def truth(self) -> np.ndarray:  # (recipes, goals)
        """True values; NaN where no seed came to its end."""
        return mean_of_seeds(self.recorded.test[:, :, -1])

    @functools.cached_property
    def development(self) -> np.ndarray:  # (recipes, goals)
        """Means over all recorded seeds, by which the whole record picks."""
        return mean_of_seeds(self.recorded.development[:, :, -1])

    @functools.cached_property
    def _complete(self) -> np.ndarray:  # (recipes,)
        return np.asarray(~np.isnan(self.truth).any(axis=1) & ~np.isnan(self.development).any(axis=1))

    @functools.cached_property
    def best(self) -> int:
        """The recipe that the whole record picks for its first goal."""
        return int(np.argmax(np.where(self._complete, self.development[:, 0], -np.inf)))

    @functools.cached_property
    def error(self) -> float:
        """One standard error of a true value, in points: the spread between a recipe's seeds, pooled over recipes,
        over the root of how many seeds a recipe has. NaN where every recipe has one seed."""
        scores = self.recorded.test[:, :, -1, 0]
        counts = (~np.isnan(scores)).sum(axis=1)
        several = scores[counts > 1]
        if not len(several):
            return math.nan
        squares = np.nansum((several - np.nanmean(several, axis=1, keepdims=True)) ** 2)
        variance = squares / (counts[counts > 1] - 1).sum()
        return float(np.sqrt(variance / np.median(counts[counts > 0])))

    @property
    def near(self) -> int:
        """How many recipes' true values lie at most one such error below that of the whole record's pick."""
        return int((self.truth[self.best, 0] - self.truth[self._complete, 0] <= self.error).sum())

    @functools.cached_property
    def reference(self) -> np.ndarray:  # (goals,)
        """The median recipe's true value in each goal: the corner from which a hypervolume is taken."""
        return np.asarray(np.median(self.truth[self._complete], axis=0))

    @functools.cached_property
    def area(self) -> float:
        """The whole record's hypervolume, in points squared. `UserError` where it is none."""
        places = np.flatnonzero(self._complete)
        area = hypervolume(self.truth[places[on_front(self.development[places])]], self.reference)
        if not area:
            raise UserError(
                f"none of the {len(places)} finished recipes is above their median in both goals, so there is no "
                "hypervolume to measure by; a record of more recipes, or one goal (--goals), can be replayed"
            )
        return area

    @functools.cached_property
    def nothing(self) -> float:
        """As `Progress.found`, of a search in which nothing has finished: no hypervolume, or the regret of a blind
        pick, which is that of the mean recipe."""
        if len(self.recorded.goals) > 1:
            return 0.0
        return float(self.truth[self.best, 0] - self.truth[self._complete, 0].mean())

    def regret(self, recipe: int) -> float:
        """Points of the first goal that this pick lies below the whole record's; negative where it is better."""
        return float(self.truth[self.best, 0] - self.truth[recipe, 0])

    def found(self, recipes: Sequence[int]) -> float:
        """What picking these is worth: of one goal the regret of the first, of two the share of the hypervolume."""
        return self.regret(recipes[0]) if len(self.recorded.goals) == 1 else self.share(recipes)

    def share(self, recipes: Sequence[int]) -> float:
        """Of the whole record's hypervolume, what these recipes' true values have."""
        return hypervolume(self.truth[list(recipes)], self.reference) / self.area


@dataclass(frozen=True, eq=False)
class Progress:
    """What a search had found at its start and after each recipe that changed it; arrays of equal length.

    `found`: with one goal the regret of the pick, in points; with two the share of the whole record's hypervolume.
    """

    compute: np.ndarray  # training seconds of all trials until then
    found: np.ndarray


def progress(
    history: History,
    seeds: Sequence[int],
    yardstick: Yardstick,
    least: int | None = None,
    first_decides: bool = False,
) -> Progress:
    """Measure a search over its whole course. `seeds`: the places of those that each recipe was to run with.

    Where recipes raced, these are the first `least`; what the race picked in the end is a last change. Where the first
    seed decided whether the others ran, they alone say how good a recipe is.
    """
    explored = list(seeds[:least])
    selected = explored[:1] if first_decides else []
    places, recipes = _completed(history, explored)
    free = [seed for seed in explored if seed not in selected] or explored
    seen = yardstick.recorded.development[:, free, -1].mean(axis=1)[recipes]  # (completed, goals)
    changes: list[int] = []
    found: list[float] = []
    front: list[int] = []
    for number in range(len(seen)):
        with_it = [*front, number]
        left = [with_it[place] for place in on_front(seen[with_it])]
        if number not in left:
            continue
        front = left
        changes.append(int(places[number]))
        found.append(yardstick.found([int(recipe) for recipe in recipes[front]]))
    if len(explored) < len(seeds) and len(recipes):
        means = _means_of_trials(history, yardstick, selected)[recipes]
        racing = ~np.isin(recipes, history.lost)
        racing |= not racing.any()  # each lacks a further seed in the record
        picked = np.flatnonzero(racing)[on_front(means[racing])]
        changes.append(len(history.recipe) - 1)
        found.append(yardstick.found([int(recipe) for recipe in recipes[picked]]))
    when = np.array(changes, dtype=int)
    return Progress(np.append(0.0, history.spent[when]), np.append(yardstick.nothing, found))


def _means_of_trials(history: History, yardstick: Yardstick, selected: Sequence[int]) -> np.ndarray:  # (recipes, goals)
    """Development scores over the seeds that each recipe was run with to the end, without those that were `selected`
    where there are others; NaN where there are none."""
    scores = yardstick.recorded.development[:, :, -1]
    ran = np.zeros(scores.shape[:2], dtype=bool)
    ran[history.recipe[history.finished], history.seed[history.finished]] = True
    free = ran.copy()
    free[:, list(selected)] = False
    ran = np.where(free.any(axis=1, keepdims=True), free, ran)
    return mean_of_seeds(np.where(ran[:, :, None], scores, np.nan))


def _completed(history: History, seeds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Of each recipe that finished under all these seeds: the last trial's place in the history, and the recipe."""
    places = np.flatnonzero(history.finished & np.isin(history.seed, seeds))
    recipes = history.recipe[places]
    if not len(recipes):
        return places, recipes
    known, inverse = np.unique(recipes, return_inverse=True)
    last = np.zeros(len(known), dtype=int)
    np.maximum.at(last, inverse, places)
    complete = np.bincount(inverse) == len(seeds)
    order = np.argsort(last[complete])
    return last[complete][order], known[complete][order]


def hypervolume(points: np.ndarray, reference: np.ndarray) -> float:  # (points, 1 or 2 goals), (goals,)
    """The part of the plane that lies above the reference and below at least one point; of one goal a length."""
    above = points[(points > reference).all(axis=1)] - reference
    if not len(above):
        return 0.0
    if points.shape[1] == 1:
        return float(above.max())
    above = above[np.argsort(-above[:, 0])]
    heights = np.maximum.accumulate(above[:, 1])
    widths = above[:, 0] - np.append(above[1:, 0], 0.0)
    return float((widths * heights).sum())


def mean_of_seeds(scores: np.ndarray) -> np.ndarray:  # (recipes, seeds, goals) -> (recipes, goals)
    """Over the seeds that are there; NaN where none is."""
    there = ~np.isnan(scores)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(scores, axis=1) / there.sum(axis=1))
