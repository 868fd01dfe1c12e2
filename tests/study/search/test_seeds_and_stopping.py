"""Several seeds and stopping early: recipes that are equally good keep equal chances, however the first seed went."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from study.replay.our_search import OurSearch
from study.replay.simulate import History, SearchBudget, TrialCurves, simulate
from study.search.samplers import SAMPLERS
from study.search.schedulers import SCHEDULERS, Setting
from tests.replayed import make_recorded

SEEDS = (0, 1, 2)
RECORDED = make_recorded(seeds=len(SEEDS)).of_goals(["sts"])


@dataclass
class Ranked:
    """What recipes that no training can tell apart are ranked by, in standard deviations between seeds; 0 is true."""

    scores: list[float]
    """Of all that were ranked."""
    seeds: list[list[int]]
    """By study, how many seeds each ran to the end, the one that is ranked first in front."""
    above_row: list[bool]
    """Whether each is ranked above a row, which is as good and was never stopped."""

    @property
    def bias(self) -> tuple[float, float]:
        """The mean score, and its standard error."""
        return float(np.mean(self.scores)), float(np.std(self.scores) / np.sqrt(len(self.scores)))

    def first(self, seeds: int) -> float:
        """How much likelier than by chance a recipe is first that ran so many seeds to the end."""
        chance = math.fsum(study.count(seeds) / len(study) for study in self.seeds)
        return sum(study[0] == seeds for study in self.seeds) / chance


def equal_recipes(studies: int, first_decides: bool, scheduler: str = "asha") -> Ranked:
    """Studies of a random search, by the code that a study runs. The scores at a rung are those of the end with noise
    of the same size. `first_decides` as a study does it; else each seed is judged by itself, and the survivors rank."""
    found = Ranked([], [], [])
    shape = RECORDED.development.shape
    for number in range(studies):
        chance = np.random.default_rng(number)
        ends = chance.standard_normal((*shape[:2], 1, 1))
        noise = chance.standard_normal(shape)
        noise[:, :, -1] = 0.0
        recorded = replace(RECORDED, development=ends + noise)
        curves = TrialCurves.of(recorded, range(shape[2]))
        judge = SCHEDULERS[scheduler].build(Setting(curves.rungs))
        search = OurSearch(recorded, SAMPLERS["random"], judge, SEEDS, number)
        history = simulate(curves, search, SEEDS, 4, SearchBudget(recipes=40), first_decides=first_decides)
        ranked = _ranked(history, ends[:, :, 0, 0], first_decides)
        row = chance.standard_normal(len(SEEDS)).mean()
        found.scores += [score for score, _ in ranked]
        found.above_row += [score > row for score, _ in ranked]
        found.seeds.append([seeds for _, seeds in sorted(ranked, reverse=True)])
    return found


def _ranked(history: History, ends: np.ndarray, first_decides: bool) -> list[tuple[float, int]]:
    """Of each recipe that has a score: what it is ranked by, and the number of seeds that ran to their end."""
    found = []
    for recipe in np.unique(history.recipe[history.finished]):
        seeds = history.seed[history.finished & (history.recipe == recipe)]
        if not first_decides:
            found.append((float(ends[recipe, seeds].mean()), len(seeds)))
        elif len(seeds) == len(SEEDS):
            found.append((float(ends[recipe, list(SEEDS[1:])].mean()), len(seeds)))
    return found


@pytest.mark.slow
def test_a_recipe_that_went_on_is_ranked_by_seeds_that_had_no_say() -> None:
    """Its expected score is the true one, so it is above an equal row in half of the cases."""
    found = equal_recipes(60, first_decides=True)
    mean, error = found.bias
    assert abs(mean) < 3 * error < 0.2
    assert np.mean(found.above_row) == pytest.approx(0.5, abs=0.1)
    assert found.first(3) == 1.0  # none is ranked that has fewer


@pytest.mark.slow
def test_where_each_seed_is_judged_survivors_look_better_than_they_are() -> None:
    """What the rule is there for; so the simulation can tell the two apart."""
    found = equal_recipes(60, first_decides=False)
    mean, error = found.bias
    assert mean > 0.3 > 3 * error
    assert np.mean(found.above_row) > 0.6
    assert found.first(1) > 1 > 1.5 * found.first(3)
