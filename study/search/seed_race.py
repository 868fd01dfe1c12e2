"""Chooses the seeds that run next if their number is a range (`--seeds 1:10`). Further seeds run only if they can
change an answer.

The rules of the race are in `reports.facts.seed_race`: it has rounds, and decides by the scores alone. So a study that
was killed continues the same race, whatever the order in which its trials ended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reports.facts.seed_race import RecipeRace, entrant, run_race
from reports.ledger import Record, trial_key
from reports.statistics.sequential import Entrant, best_first
from search_spaces.goals import Goal, upward_values
from study.trial import Trial


@dataclass
class RacingRecipe:
    """A recipe in the race."""

    row: bool
    fixed: bool
    values: dict[int, Sequence[float] | None] = field(default_factory=dict)
    """Values of the goals by seed; None for a seed that failed or was stopped early: no further seed follows."""


class SeedRace:
    """A race over seeds, numbered from 0: takes the results of trials, and returns the next trials."""

    def __init__(self, least: int, most: int, goals: int = 1, baseline: str | None = None) -> None:
        self.least, self.most, self.goals, self.baseline = least, most, goals, baseline
        self.recipes: dict[str, RacingRecipe] = {}
        self._entrants: dict[str, Entrant] = {}
        self._raced: dict[str, RecipeRace] | None = None

    def enter(self, name: str, row: bool = False, fixed: bool = False) -> None:
        """Add a recipe to the race; without effect if it was added before. `fixed`: no seed changes the recipe."""
        if name not in self.recipes:
            self.recipes[name] = RacingRecipe(row, fixed)
            self._raced = None

    def tell(self, name: str, seed: int, values: Sequence[float] | None) -> None:
        """Store the values of a trial's goals, all maximised; None: the trial has none. The recipe must be entered."""
        self.recipes[name].values[seed] = values
        self._raced = None

    def raced(self) -> dict[str, RecipeRace]:
        """Return the state of each recipe in the race, by name."""
        if self._raced is None:
            self._entrants = {
                name: entrant(recipe.values, self.goals, recipe.fixed, None in recipe.values.values())
                for name, recipe in self.recipes.items()
            }
            rows = [name for name, recipe in self.recipes.items() if recipe.row]
            self._raced = run_race(self._entrants, rows, self.baseline, self.least, self.most)
        return self._raced

    def next_trials(self, places: int, running: Collection[tuple[str, int]] = ()) -> list[tuple[str, int]]:
        """Return the trials to begin now, as name and seed: first those missing in the present round, then, for idle
        places, the next seeds of the recipes nearest to winning. `running`: trials that have begun and not ended.

        Every recipe must have its least seeds, or have failed. Empty if no further trial can change an answer, or if
        running trials must end first.
        """
        ended = {name for name, recipe in self.recipes.items() if None in recipe.values.values()}
        going = {name: standing for name, standing in self.raced().items() if standing.going and name not in ended}
        if not going:
            return []
        begun = set(running)
        lacking = [
            (name, seed) for name, standing in going.items() for seed in range(standing.seeds_run, standing.seeds)
        ]
        trials = [trial for trial in lacking if trial not in begun]
        nearest = sorted(best_first(self._entrants, [*going]), key=lambda name: going[name].gap)
        for more in range(self.most):
            for name in nearest:
                trial = name, going[name].seeds + more
                if len(trials) + len(begun) >= places:
                    return trials
                if trial[1] < self.most and trial not in begun and trial[1] not in self.recipes[name].values:
                    trials.append(trial)
        return trials

    def open(self, name: str) -> int:
        """Return how many more seeds the recipe may get at most, without the `least` seeds that every recipe gets."""
        recipe, standing = self.recipes[name], self.raced()[name]
        if recipe.fixed or None in recipe.values.values() or not (standing.going or standing.seeds_run < self.least):
            return 0
        return self.most - max(len(recipe.values), self.least)


class StudySeedRace:
    """The race of a study: `SeedRace` for `Trial` and `Record` objects."""

    def __init__(
        self,
        fixed: Iterable[Trial],
        seeds: Sequence[int],
        most: int,
        goals: Sequence[Goal],
        baseline: str | None,
        records: Mapping[str, Record],
    ) -> None:
        """`fixed`: trials of the rows and a grid. Each recipe gets at least the `seeds`, and at most `most` seeds.
        `baseline`: the hash of the row that others are compared with. `records`: records of finished trials, by key."""
        self.seeds, self.goals, self.records = seeds, goals, records
        self.race, self.of_rows = (SeedRace(len(seeds), most, len(goals), baseline) for _ in range(2))
        """The race of all recipes, and the race of the rows alone, which asks for no seed beyond those of the first."""
        self.named: dict[str, Trial] = {}
        for trial in {trial.recipe_hash: trial for trial in reversed([*fixed])}.values():
            self.enter(trial)

    def enter(self, trial: Trial) -> None:
        """Add the trial's recipe to the race, with the records that it has already."""
        if trial.recipe_hash in self.named:
            return
        self._enter(trial)
        for seed in range(self.race.most if trial.recipe.uses_seed else 1):
            record = self.records.get(trial_key(trial.recipe_hash, seed))
            if record is not None:
                self.tell(trial, seed, record)

    def tell(self, trial: Trial, seed: int, record: Record | None) -> None:
        """Store the record of a trial of that recipe under this seed; None: the trial failed."""
        self._enter(trial)
        values = None
        if record is not None and record.status == "finished":
            values = upward_values(self.goals, record.scores, record.cost)
        self.race.tell(trial.recipe_hash, seed, values)
        if trial.recipe_hash in self.of_rows.recipes:
            self.of_rows.tell(trial.recipe_hash, seed, values)

    def next(self, places: int, running: Collection[Trial]) -> list[Trial]:
        """Return the trials to begin, once every recipe has its least seeds. Before that, but once all rows have their
        least seeds, return only the further seeds that rows need in any case."""
        first = [trial.recipe_hash for trial in running if trial.seed < self.race.least]
        if self.of_rows.recipes.keys() & first:
            return []
        begun = [(trial.recipe_hash, trial.seed) for trial in running]
        following = self.of_rows.next_trials(0, begun) if first else self.race.next_trials(places, begun)
        named = [(self.named[name], seed) for name, seed in following]
        return [Trial(trial.recipe, seed, trial.name, trial.row) for trial, seed in named]

    def open(self, trials: Collection[Trial]) -> int:
        """Return how many trials beyond the least seeds may still begin at most, in addition to `trials`."""
        begun = sum(trial.seed >= self.race.least for trial in trials)
        new = {trial.recipe_hash for trial in trials if trial.recipe.uses_seed} - self.race.recipes.keys()
        further = len(new) * (self.race.most - self.race.least)
        return max(0, sum(map(self.race.open, self.race.recipes)) + further - begun)

    def _enter(self, trial: Trial) -> None:
        self.named.setdefault(trial.recipe_hash, trial)
        self.race.enter(trial.recipe_hash, trial.row, not trial.recipe.uses_seed)
        if self.race.recipes[trial.recipe_hash].row:
            self.of_rows.enter(trial.recipe_hash, True, not trial.recipe.uses_seed)
