"""The order in which a study runs its trials.

`Agenda` takes the records of trials that ended, and returns the trial that begins next. It uses no Ray, console or
file, so a replay of recorded trainings drives the same object as a study.

The order:

1. the rows, and a grid;
2. the exploration (`Exploration`), which under a limit begins on parts of the data;
3. further seeds, where recipes race for them;
4. the finals (`FinalRounds`): the best recipes and those that they are compared with, under fresh seeds, seed by seed;
5. soups, then a learning curve.

Exploration leaves room for the finals, so a study with a limit always has an answer.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from reports.ledger import Record, is_fresh, split_key, trial_key
from search_spaces.limits import LIMITS
from study.search.budget import Budget
from study.search.design import Explorer, StudyDesign
from study.search.exploration import Exploration
from study.search.final_rounds import FinalRounds
from study.search.finals import FinalsRecipe, SearchFinals, seeds_of
from study.search.ladder import Ladder
from study.search.progress import StudyProgress
from study.search.seed_race import StudySeedRace
from study.trial import Trial
from trainables.recipe import Recipe

LARGEST_OVERESTIMATE = 4.0
"""The guessed time of a training may be this many times too high if only some steps on a part of the data are known."""


class Agenda:
    """Returns the next trial of a study."""

    def __init__(
        self,
        design: StudyDesign,
        budget: Budget,
        records: Iterable[Record] = (),
        explorer: Explorer | None = None,
        race: StudySeedRace | None = None,
        plan_curve: Callable[[], Mapping[str, Recipe]] | None = None,
        plan_soups: Callable[[], Sequence[Trial]] | None = None,
    ) -> None:
        """`records`: records of trials that are done already; the budget counts their cost. `plan_curve`: returns the
        recipes of a learning curve by name; called once the finals have run. `plan_soups`: returns the soups that are
        known so far; called once the finals have run, and again once these soups have scores."""
        self.design, self.budget, self.race, self.plan_curve = design, budget, race, plan_curve
        self.progress = StudyProgress(design, budget, records, explorer, race)
        self.rounds = FinalRounds(self.progress)
        self.exploration = Exploration(self.progress, self.rounds, explorer)
        self.curve_recipes: list[FinalsRecipe] | None = None if plan_curve else []
        """Recipes of the learning curve; None until they are known."""
        self.plan_soups = plan_soups
        self._planned_soups: tuple[int, Sequence[Trial]] = (-1, ())
        """The number of trials that were done at the last call of `plan_soups`, and the soups that it returned."""
        self._returned: deque[Trial] = deque()
        self.rounds.fit_size()

    # --- what the study calls

    def next(self) -> Trial | None:
        """Return the trial that begins now; None if no trial can begin. If none runs either, none will begin later."""
        self.progress.left_out = {}
        if self.budget.seconds_left() <= 0:
            return None
        if self._returned:
            return self._begun(self._returned.popleft())
        for phase in (self._fixed, self.exploration.trials, self._seeds, self._finals, self._soups, self._curve):
            for trial in phase():
                if not self.progress.is_open(trial):
                    continue
                if self._fits(trial):
                    return self._begun(trial)
                if not trial.averaged:  # the answer is complete without soups
                    self.progress.left_out[trial.key] = trial
        return None

    def give_back(self, trial: Trial) -> None:
        """Take back a trial that `next` returned and that did not begin. `next` will return it again."""
        del self.progress.running[trial.key]
        self._returned.append(trial)

    def claim(self, trial: Trial, limited: bool = False) -> bool:
        """Begin this trial, too. Return False if it is not open, or, if `limited`, if the limits have no room."""
        if not self.progress.is_open(trial) or (limited and not self._fits(trial)):
            return False
        self._begun(trial)
        return True

    def step(self, key: str, step: int, steps: int) -> None:
        """Take a step of a running trial that trains alone, and the number of its steps."""
        if self.progress.step(key, step, steps):
            self._replace_late()

    def tell(self, key: str, record: Record | None) -> None:
        """Take the record of a running trial; None: the trial failed."""
        trial = self.progress.end(key, record)
        if is_fresh(trial.seed):  # the scores of fresh seeds must not influence any choice
            self._replace_late()
            return
        if self.race and not trial.part:
            self.race.tell(trial, trial.seed, record)
        self.exploration.tell(trial, record)
        self.rounds.fit_size()

    @property
    def limited(self) -> bool:
        """Whether a limit ended the study before all of its trials had run."""
        if self.budget.seconds_left() <= 0:
            return self.remaining > self._unscored  # the answer is complete without soups
        unbegun = self.progress.left_out or self._cut_short or (self.exploration.closed and self.exploration.queue)
        return not self.progress.running and bool(unbegun)

    @property
    def needed(self) -> str:
        """Key of the trial of the base settings, without whose record there is no answer. Empty without finals."""
        return trial_key(self.design.base.hash, self.design.seeds[0]) if self.design.finals else ""

    def seconds_to_halt(self, trained: Callable[[str], bool]) -> float:
        """Return the seconds until running trials are cut off. `trained` returns whether the trial of a key has
        trained. If that of the base settings has, its scores are awaited (`Budget.grace`)."""
        key = self.needed
        grace = self.budget.grace if key in self.progress.running and trained(key) else 0.0
        return self.budget.seconds_left() + grace

    @property
    def awaits_records(self) -> bool:
        """Whether running trials may decide which further trials there are."""
        if not self.progress.running:
            return False
        unknown = (
            self.rounds.unknown
            or not self.exploration.closed
            or self.curve_recipes is None
            or self.plan_soups is not None
        )
        replaceable = bool(self.finalists) and self.budget.seconds_left() < math.inf  # if they would end too late
        return bool(unknown or replaceable or self.race or self.progress.left_out)

    def waiting(self) -> list[Trial]:
        """Return the trials that may begin next, if they are chosen already."""
        fixed = filter(self.progress.is_open, self.design.fixed)
        soups = filter(self.progress.is_open, self._planned_soups[1])
        return [*self._returned, *fixed, *self.exploration.queue, *self.rounds.open, *soups]

    @property
    def remaining(self) -> int:
        """Largest number of trials without a record: running ones, chosen ones, and ones that are not chosen yet."""
        trials = {trial.key: trial for trial in (*self.progress.running.values(), *self.waiting())}
        searched = [trial for trial in trials.values() if not is_fresh(trial.seed)]
        unasked = self.exploration.unasked * len(self.design.seeds)
        raced = self.race.open(searched) if self.race else 0
        curve = self.finals.most_curve_trials if self.finals and self.curve_recipes is None else 0
        further = len(self.design.seeds) - 1 if self.design.first_decides else 0
        first = sum(not trial.row and trial.seed == self.design.seeds[0] for trial in searched)
        return len(trials) + unasked + first * further + self.rounds.unknown + raced + self._unscored + curve

    @property
    def finals(self) -> SearchFinals | None:
        """Size of the finals, smaller if a limit has no room for the usual size; None if there are no finals."""
        return self.rounds.size

    @property
    def finalists(self) -> list[FinalsRecipe] | None:
        """The finalists; None until they are chosen."""
        return self.rounds.finalists

    @property
    def awaited(self) -> list[Trial]:
        """Running trials that may decide which recipes are finalists."""
        if self.finalists is not None:
            return []
        return [trial for trial in self.progress.searching if self.exploration.decides(trial)]

    @property
    def ladder(self) -> Ladder | None:
        """The parts of the data that recipes begin on; None until the cost of a training is known."""
        return self.exploration.ladder

    # --- phases: each yields trials in the order in which they begin

    def _fixed(self) -> Iterator[Trial]:
        yield from self.exploration.pace()
        yield from self.design.fixed
        yield from self.exploration.base_part()

    def _seeds(self) -> Iterator[Trial]:
        if self.race and not (self._opens_more or any(trial.row for trial in self.progress.left_out.values())):
            yield from self.race.next(self.budget.places, self.progress.searching)

    def _finals(self) -> Iterator[Trial]:
        """Yield trials of the finals. Finalists are chosen once no running trial can change the choice. While a row
        runs, an empty choice is not final: the row may end soon enough to leave room for recipes. Until then, idle
        places take the trials that finalists will be compared with."""
        if self.finals is None:
            return
        if self.finalists is None:
            if self._opens_more or any(trial.row for trial in self.awaited):
                return
            if not self.awaited:
                rows_run = any(trial.row for trial in self.progress.searching)
                self.rounds.choose(self.exploration.recipes, self.exploration.by_parts(), or_none=not rows_run)
            if self.finalists is not None:
                self.exploration.closed = True  # even if there is more room once the rows have ended
        self._replace_late()
        yield from self.rounds.trials()

    def _soups(self) -> Iterator[Trial]:
        """Yield soups. `plan_soups` is called again whenever a trial has ended and none runs that may end in time."""
        if self.plan_soups is None or not self._finals_over:
            return
        if not self.progress.in_time and self._planned_soups[0] != len(self.progress.done):
            self._planned_soups = len(self.progress.done), self.plan_soups()
        yield from self._planned_soups[1]

    def _curve(self) -> Iterator[Trial]:
        if self.plan_curve is None or self.finals is None or not self._finals_over or self.rounds.open:
            return
        if self.curve_recipes is None:
            if self.progress.running:
                return
            seeds = self.finals.seeds
            self.curve_recipes = [
                FinalsRecipe(recipe, name, seeds_of(recipe, seeds, False), part=True)
                for name, recipe in self.plan_curve().items()
            ]
        yield from (trial for entrant in self.curve_recipes for trial in entrant.trials)

    # --- small things

    def _replace_late(self) -> None:
        if self.finalists:
            self.rounds.replace_late(self.exploration.recipes, self.exploration.by_parts())

    @property
    def _unscored(self) -> int:
        """Largest number of soups to score; 0 once the soups are planned, as `waiting` then returns them."""
        return self.finals.most_soups if self.finals and self.plan_soups and self._planned_soups[0] < 0 else 0

    @property
    def soups_settled(self) -> bool:
        """Whether all soups are scored, and no trial of the finals failed or was left out."""
        if self.plan_soups is None or not self._finals_over or self.progress.running:
            return False
        if any(is_fresh(split_key(key)[1]) for key in self.progress.failed):
            return False
        trials = self.plan_soups()
        return all(trial.key in self.progress.done for trial in trials) and not self.limited

    @property
    def _finals_over(self) -> bool:
        """Whether no further trial of the finals begins: all have begun, or the next round has no room."""
        has_finalists = self.finals is not None and self.finalists is not None
        return has_finalists and all(trial.key in self.progress.left_out for trial in self.rounds.open)

    def _fits(self, trial: Trial) -> bool:
        """Whether the limits have room for the trial. Only trials of the search leave room for later trials, too."""
        if trial.averaged and self.finals:
            return self.progress.fits([self.finals.untrained])
        if trial.row or is_fresh(trial.seed):
            return self.progress.fits([trial.recipe]) or self._may_fit(trial)
        return self.exploration.fits(trial)

    def _may_fit(self, trial: Trial) -> bool:
        """Whether this is the base settings' trial (`needed`), and may end within a limit in minutes. A guess from a
        small part of the data is too high, as the start of a training has fixed costs (`LARGEST_OVERESTIMATE`)."""
        by_the_clock = all(LIMITS[name].clock for name in self.budget.limits)
        if trial.key != self.needed or not self.design.allows_parts or not by_the_clock:
            return False
        guesses = [self.budget.guess(name, self.design.base.hash) for name in self.budget.limits]
        return all(
            guess is not None and 60 * guess <= LARGEST_OVERESTIMATE * self.budget.seconds_left() for guess in guesses
        )

    def _begun(self, trial: Trial) -> Trial:
        self.progress.begin(trial)
        if not (trial.row or is_fresh(trial.seed)):
            self.exploration.begin(trial)
        return trial

    @property
    def _opens_more(self) -> bool:
        """Whether a trial of a row, of the grid or of the exploration may still begin."""
        fixed = filter(self.progress.is_open, self.design.fixed)
        return any(trial.key not in self.progress.left_out for trial in fixed) or self.exploration.opens_more

    @property
    def _cut_short(self) -> bool:
        """Whether a limit ended the exploration before all recipes were asked for."""
        return bool(self.budget.limits) and not self._opens_more and self.exploration.wants_more
