"""How a search ends: the best recipes run again under fresh seeds, beside what a person would use without a search.

The scores that chose a recipe flatter it. Those of seeds that had no say do not: they alone tell what it gains over the
base recipe, over the space's baseline row, and over the encoder without any training.

One seed's score chooses badly: of forty recipes the best is often passed over for three that were lucky. So where each
has one seed, the best fifth run once more in a semifinal, under a seed that is neither the search's nor the finals',
and the finalists are those of the best means. Who is in the semifinal whatever the last recipes come to begins while
these run, in places that would be idle.

Where a learning curve is asked for, the recipe to use comes last, on parts of its data (`learning_curve.py`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from reports.best_model import ranking
from reports.guards.words import listed
from reports.ledger import STUDY, Finals, LearningCurve, Ledger, StudyInfo, fresh_seeds, is_explored, is_fresh
from reports.ledger.finals import SEMIFINAL, SHARES
from reports.recipe_names import AS_IT_CAME, BASE, explored_numbers, recipe_name
from reports.results import Results, in_order
from reports.statistics.finals import base_seeds
from reports.statistics.fronts import front_numbers, spread
from search_spaces.goals import searched
from search_spaces.limits import LIMITS
from study.rows import as_it_came
from study.search.budget import Budget
from study.search.learning_curve import Parts, parts_of, trainings
from study.trial import Trial
from trainables.recipe import Recipe
from trainables.trial import population_key

if TYPE_CHECKING:
    from study.plan import Plan

SIZES = ((3, 5), (2, 5), (2, 4), (2, 3))
"""Recipes and seeds of each, where nobody asks for others: the first that fit, or the last."""


@dataclass(frozen=True)
class Entrant:
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
    """How many finalists are asked for."""
    seeds: int
    """How many fresh seeds each of them has."""
    base: Entrant
    as_it_came: Entrant
    baseline: Entrant | None
    """None where the space has none, and where it does not run."""
    smaller: bool = False
    """Than usual, so that half of a limit is left to explore."""
    curve: bool = False
    """Whether they end with a learning curve."""

    @classmethod
    def of(
        cls,
        recipes: int,
        seeds: int,
        base: Recipe,
        rows: Mapping[str, Recipe | None],
        baseline: str | None,
        smaller: bool = False,
        curve: bool = False,
    ) -> SearchFinals:
        """`rows` are those that run, by label; `baseline` is the label of the space's."""
        labels = {recipe.hash: label for label, recipe in reversed([*rows.items()]) if recipe is not None}
        came = as_it_came(base)
        row = rows.get(baseline or "")

        def entrant(recipe: Recipe, name: str, count: int) -> Entrant:
            return Entrant(recipe, name, seeds_of(recipe, count, recipe.hash in labels))

        return cls(
            recipes,
            seeds,
            entrant(base, BASE, base_seeds(recipes, seeds)),
            Entrant(came, AS_IT_CAME, seeds_of(came, 1, came.hash in labels)),
            None if row is None else entrant(row, labels[row.hash], seeds),
            smaller,
            curve,
        )

    @property
    def beside(self) -> list[Entrant]:
        """What the finalists are compared with, each recipe once."""
        found: dict[str, Entrant] = {}
        for entrant in (self.base, self.as_it_came, self.baseline):
            if entrant is not None:
                found.setdefault(entrant.recipe.hash, entrant)
        return [*found.values()]

    @property
    def trials(self) -> int:
        """How many there are of finalists and of what they are compared with."""
        return self.recipes * self.seeds + sum(len(entrant.seeds) for entrant in self.beside)

    @property
    def trainings(self) -> int:
        """As many whole trainings as they cost, a learning curve with them."""
        return self.trials + trainings(self.of_curve)

    @property
    def of_curve(self) -> int:
        """How many trials its learning curve has at most."""
        return len(SHARES) * self.seeds if self.curve else 0

    def told(self, finalists: Sequence[Entrant] = (), curve: LearningCurve | None = None) -> Finals:
        """As `study.json` keeps it. `curve`: once it is known."""
        return Finals(
            self.recipes,
            self.seeds,
            base_seeds(self.recipes, self.seeds),
            [entrant.recipe.hash for entrant in finalists],
            self.base.recipe.hash,
            self.as_it_came.recipe.hash,
            self.baseline.recipe.hash if self.baseline else None,
            self.smaller,
            curve or LearningCurve() if self.curve else None,
        )

    def in_words(self, finalists: int | None = None) -> str:
        """`3 recipes x 5 fresh seeds, beside the base settings (9), SBERT baseline (5) and the encoder as it came`."""
        count = self.recipes if finalists is None else finalists
        why = " (fewer than usual, so that half of the limit explores)" if self.smaller else ""
        return f"{count} recipe{'s' * (count != 1)} x {self.seeds} fresh seeds{why}, beside {self.beside_in_words}"

    @property
    def beside_in_words(self) -> str:
        """`the base settings (9), SBERT baseline (5) and the encoder as it came`."""
        return listed(
            [
                (entrant.name if entrant is self.baseline else f"the {entrant.name}")
                + (f" ({len(entrant.seeds)})" if len(entrant.seeds) > 1 else "")
                for entrant in self.beside
            ]
        )


def fitted(plan: Plan, ledger: Ledger, places: int) -> Plan:
    """With smaller finals, fewer recipes first and then fewer seeds, where they would take more than half of a limit on
    the whole study, so that at least half of it explores. Of what a trial takes the first row that trains has told, by
    the cheapest of its seeds: the first training of a process warms it up. Finals of which a trial has run keep the
    size that `study.json` has, whatever the limit and `places`, the trials that run at once, are now."""
    budget, asked = Budget(plan.limits, places=places), plan.request
    if asked.finals is None or not asked.fit_finals or not budget.limits:
        return plan
    records = ledger.sift()[0]
    begun = any(is_fresh(record.seed) for record in records) and (plan.results / STUDY).is_file()
    if begun and (before := StudyInfo.load(plan.results).finals) is not None:
        size = (before.recipes, before.seeds)
        kept = dataclasses.replace(asked, finals=size, fit_finals=before.smaller)
        return plan if size == asked.finals else plan.asking(kept)
    rooms = _rooms(plan, ledger, places)
    if not rooms:
        return plan
    for size in SIZES:
        sized = plan.asking(dataclasses.replace(asked, finals=size))
        assert sized.finals is not None
        if sized.finals.trainings <= min(rooms.values()):
            break
    return plan if sized.request.finals == asked.finals else sized


def shortage(plan: Plan, ledger: Ledger, places: int) -> str:
    """A sentence on limits of which the finals of the plan take more than half; empty where there are none."""
    wanted = plan.finals.trainings if plan.finals else 0
    short = {name: wanted / room for name, room in _rooms(plan, ledger, places).items() if room < wanted}
    if not short:
        return ""
    limits = " ".join(f"--limit {name}={plan.limits[name] * times:.2g}" for name, times in short.items())
    return f"they take more than half of {' and '.join(short)}, so little is explored; about {limits} would do"


def _rooms(plan: Plan, ledger: Ledger, places: int) -> dict[str, float]:
    """How many trainings half of each limit on the whole study has room for, where that is known."""
    budget = Budget(plan.limits, places=places)
    row = next((trial.recipe_hash for trial in plan.fixed_trials() if trial.row and trial.recipe.trains), None)
    seeds = [
        one for one in ledger.sift()[0] if one.recipe_hash == row and one.status == "finished" and is_explored(one.seed)
    ]
    return {
        name: number * (places if LIMITS[name].clock else 1) / 2 / min(ones)
        for name, number in budget.limits.items()
        if (ones := [one for record in seeds if (one := LIMITS[name].of(record.cost))])
    }


def seeds_of(recipe: Recipe, count: int, row: bool) -> Sequence[int]:
    """Those of a recipe in the finals. One that no seed changes runs once, and a `row` has been run already."""
    return fresh_seeds(count if recipe.uses_seed else 0 if row else 1)


def semifinalists(candidates: int, recipes: int) -> int:
    """How many of the candidates are in the semifinal of so many finalists: a fifth; none where no more than these."""
    found = math.ceil(candidates / 5)
    return found if found > recipes else 0


def choose(values: Sequence[Sequence[float]], most: int, lost: int = 0) -> list[int]:
    """The places of the finalists among recipes that are given best first, by their goals' values, each the higher the
    better: of one goal the first ones; of several those of the front, and where that is larger than needed those that
    cover it well. Best first again. The last `lost` recipes have left a race over seeds: they come after all others."""
    if len(values) <= most or len(values[0]) == 1:
        return [*range(min(most, len(values)))]
    table = np.array(values, dtype=float)
    found: list[int] = []
    for group in np.split(np.arange(len(values)), [len(values) - lost]):
        fronts = front_numbers(table[group])
        for front in range(fronts.max(initial=-1) + 1):
            members = group[fronts == front]
            while len(members):  # of equal ones first one each, but all before any that is dominated
                points, first = np.unique(table[members], axis=0, return_index=True)
                found += members[first[spread(points)]].tolist()
                members = np.delete(members, first)
    return sorted(found[:most])


class StudyFinals:
    """The finals of a study on their way: which trials are next, and once the exploration is over, who is in them."""

    def __init__(self, plan: Plan, asked: SearchFinals, ledger: Ledger) -> None:
        self.plan, self.asked, self.ledger = plan, asked, ledger
        self.semifinal: list[Entrant] | None = None
        """None until all of its recipes are chosen; empty where there is none."""
        self.ahead: set[str] = set()
        """Keys of its trials that were handed out before that."""
        self.beside: frozenset[str] = frozenset()
        """Keys of the explored trials that ran when it was last asked who is sure to be in it."""
        self.finalists: list[Entrant] | None = None
        """None until they are chosen."""
        self.parts = None if asked.curve else Parts()
        """Of the learning curve; None until its recipe is known."""
        self.later = self._left(asked.beside)
        """Trials that are known, have no record, and were not handed out yet."""

    def left(self, explored: int) -> int:
        """How many trials were not handed out yet: of recipes that are not chosen yet, as many as there may be once the
        search has asked for so many."""
        finalists = 0 if self.finalists is not None else self.asked.recipes * self.asked.seeds
        again = max(0, self._semifinalists(explored) - len(self.ahead)) if self.semifinal is None else 0
        return len(self.later) + finalists + again + self.of_curve

    def cost(self, explored: int) -> int:
        """As many whole trainings as these cost together."""
        return self.left(explored) - self.of_curve + trainings(self.of_curve)

    @property
    def of_curve(self) -> int:
        """How many trials a learning curve may yet have whose recipe is not known."""
        return self.asked.of_curve if self.parts is None else 0

    @property
    def undecided(self) -> bool:
        """Whether trials that still run decide what else there is to run."""
        return self.finalists is None or self.parts is None

    def wanted(self, explored: int) -> int:
        """How many there are in all, in the same way."""
        asked = self.asked
        known = {entrant.recipe.hash: len(entrant.seeds) for entrant in [*asked.beside, *(self.finalists or ())]}
        finalists = 0 if self.finalists is not None else asked.recipes * asked.seeds
        return sum(known.values()) + finalists + self.again(explored) + self.asked.of_curve

    def again(self, explored: int) -> int:
        """How many of them are of the semifinal."""
        if self.semifinal is not None:
            return sum(len(one.seeds) for one in self.semifinal)
        return self._semifinalists(explored)

    def _semifinalists(self, explored: int) -> int:
        """How many there may be. Recipes of several seeds need no semifinal."""
        if self.plan.most_seeds > 1:
            return 0
        searched = {trial.recipe_hash for trial in self.plan.fixed_trials() if trial.recipe.trains}
        return semifinalists(len(searched - {self.asked.base.recipe.hash}) + explored, self.asked.recipes)

    @property
    def told(self) -> Finals:
        """As `study.json` keeps it."""
        return self.asked.told(self.finalists or (), self.parts.curve if self.parts else None)

    def next(self, explored: Sequence[str], running: Collection[Trial], runs: bool = False) -> list[Trial]:
        """What is to run now that nothing of the exploration is left to begin. `running`: trials that were begun; those
        of fresh seeds change nothing. `runs`: trials of any kind still run or are next, and may change what a learning
        curve is of. `explored`: the hashes of the recipes that a search asked for."""
        if self.finalists is None:
            again = [] if self.semifinal is not None else self._again(explored, running)
            self.later = again + self.later
            if self.semifinal is not None and not again and all(is_fresh(trial.seed) for trial in running):
                self.finalists = self._finalists(explored)
                self.later += self._left(self.finalists)
        if self.parts is None and self.finalists is not None and not (runs or self.later):
            self.parts = self._parts(explored)
            seeds = self.asked.seeds
            self.later = self._left(
                [Entrant(one, name, seeds_of(one, seeds, False), part=True) for name, one in self.parts.recipes.items()]
            )
        found, self.later = self.later, []
        return [trial for trial in found if not self._done(trial)]

    def in_words(self) -> str:
        """`finals: 3 recipes x 5 fresh seeds, beside …: #4 batch 128, SCL, #2 cls`."""
        names = [entrant.name for entrant in self.finalists or ()]
        if not names:
            room = "; a larger --limit leaves room for a search" if self.plan.limits else ""
            return f"finals: no recipe of the search has a score, so {self.asked.beside_in_words} run alone{room}"
        return f"finals: {self.asked.in_words(len(names))}: {', '.join(names)}"

    def _again(self, explored: Sequence[str], running: Collection[Trial]) -> list[Trial]:
        """What the semifinal has to begin: all that is left of it, or while recipes are explored what is sure of it."""
        beside = frozenset(trial.key for trial in running if is_explored(trial.seed))
        if not beside:
            self.semifinal = entrants = self._semifinal(explored)
        elif beside != self.beside:
            self.beside, entrants = beside, self._sure(explored, len(beside))
        else:
            return []
        found = [trial for trial in self._left(entrants) if trial.key not in self.ahead]
        self.ahead |= {trial.key for trial in found if beside}
        return found

    def _sure(self, explored: Sequence[str], running: int) -> list[Entrant]:
        """Those who are in the semifinal whatever becomes of so many recipes that still run, even if all come before
        them; but for one that is a copy of another of these. Of several goals nobody is sure; and what may train
        together with others waits for them."""
        if running >= self._semifinalists(len(explored)) or len(searched(self.plan.space.goals)) > 1:
            return []
        found, _ = self._candidates(explored)
        most = semifinalists(len(found), self.asked.recipes) and semifinalists(len(found) + running, self.asked.recipes)
        sure = self._once_more([entrant for entrant, _ in found[: max(0, most - running)]])
        return [entrant for entrant in sure if population_key(entrant.recipe) is None]

    def _semifinal(self, explored: Sequence[str]) -> list[Entrant]:
        """The best fifth, one seed more of each, where that may change who is in the finals."""
        found, lost = self._candidates(explored)
        most = semifinalists(len(found), self.asked.recipes) if self.plan.most_seeds == 1 else 0
        return self._once_more(self._chosen(found, most, lost))

    def _once_more(self, found: Sequence[Entrant]) -> list[Entrant]:
        """In the semifinal, the best first, or where no limit may end it the longest: none is waited for alone."""
        if not any(LIMITS[name].whole for name in self.plan.limits):
            found = sorted(found, key=lambda one: -self._seconds(one.recipe))
        return [Entrant(one.recipe, one.name, [SEMIFINAL] if one.recipe.uses_seed else []) for one in found]

    def _seconds(self, recipe: Recipe) -> float:
        """How long it took in the search; 0 where that is unknown."""
        record = self.ledger.get(recipe.hash, self.plan.seeds[0])
        seconds = record.cost.get("seconds") if record else None
        return seconds if isinstance(seconds, int | float) else 0.0

    def _finalists(self, explored: Sequence[str]) -> list[Entrant]:
        """The best of those in the semifinal, or where there is none of all."""
        found, lost = self._candidates(explored, {one.recipe.hash: one for one in self.semifinal or ()})
        return self._chosen(found, self.asked.recipes, lost)

    def _parts(self, explored: Sequence[str]) -> Parts:
        """Of the recipe to use: it is known now."""
        before, trained = StudyInfo.load(self.plan.results), [*(self.finalists or ()), *self.asked.beside]
        explored = [*dict.fromkeys([*before.explored, *explored])]
        info = dataclasses.replace(before, explored=explored, finals=self.told)
        return parts_of(self.plan, info, [entrant.recipe for entrant in trained])

    @staticmethod
    def _chosen(found: Sequence[tuple[Entrant, Sequence[float]]], most: int, lost: int) -> list[Entrant]:
        return [found[place][0] for place in choose([values for _, values in found], most, lost)]

    def _candidates(
        self, explored: Sequence[str], again: Mapping[str, Entrant] = MappingProxyType({})
    ) -> tuple[list[tuple[Entrant, list[float]]], int]:
        """Who may be in them, the best first, with the goals' values, the higher the better; and how many of the last
        have left a race, or have no score `again` in the semifinal, where only its recipes count.

        By the development scores of the ledger. Neither the base nor the encoder as it came, with which they are
        compared, and no row that is only evaluated; of recipes that are one in effect the best. What an earlier search
        of this study explored counts, too."""
        plan, asked = self.plan, self.asked
        rows = {trial.recipe.hash: trial.name for trial in plan.fixed_trials() if trial.row}
        before = StudyInfo.load(plan.results).explored if (plan.results / STUDY).is_file() else []
        explored = [*dict.fromkeys([*before, *(recipe.hash for recipe in plan.grid), *explored])]
        records = [
            record
            for recipe_hash in dict.fromkeys([*rows, *explored])
            if not again or recipe_hash in again
            for seed in [*range(plan.most_seeds), *(again[recipe_hash].seeds if again else ())]
            if (record := self.ledger.get(recipe_hash, seed)) is not None
        ]
        info = StudyInfo(
            plan.space.name,
            seeds=list(plan.seeds),
            most_seeds=plan.most_seeds if plan.races else None,
            row_hashes={label: recipe.hash if recipe else None for label, recipe in plan.rows.items()},
            limits=dict(plan.limits),
            explored=explored,
        )
        results = Results(plan.results, info, plan.space, in_order(info, plan.space, records))
        base, numbers = plan.base.flat(), explored_numbers(explored)
        seen = {results.once(entrant.recipe.hash) for entrant in (asked.base, asked.as_it_came)}
        found: list[tuple[Entrant, list[float]]] = []
        out: list[tuple[Entrant, list[float]]] = []
        for one in ranking(results):
            recipe, row = Recipe.from_flat(one.records[0].recipe), rows.get(one.recipe_hash)
            evaluated = row is not None and asked.base.recipe.trains and not recipe.trains
            if evaluated or results.once(one.recipe_hash) in seen:
                continue
            seen.add(results.once(one.recipe_hash))
            name = row or recipe_name(numbers[one.recipe_hash], recipe.flat(), base, plan.space.domains)
            values = [goal.upward(value.mean) for goal, value in zip(results.measured_goals, one.values, strict=True)]
            missing = bool(again and again[one.recipe_hash].seeds) and len(one.records) < 2
            entrant = Entrant(recipe, name, seeds_of(recipe, asked.seeds, row is not None))
            (out if one.lost or missing else found).append((entrant, values))
        return [*found, *out], len(out)

    def _left(self, entrants: Sequence[Entrant]) -> list[Trial]:
        known = {entrant.recipe.hash for entrant in self.asked.beside} if self.finalists is not None else set()
        return [
            trial
            for entrant in entrants
            if entrant.recipe.hash not in known
            for trial in entrant.trials
            if not self._done(trial)
        ]

    def _done(self, trial: Trial) -> bool:
        return self.ledger.has(trial.recipe_hash, trial.seed)
