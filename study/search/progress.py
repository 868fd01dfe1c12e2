"""The done and running trials of a study, and the trials that its limits have room for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from reports.facts.standings import Ranked, RecordStandings, in_study_order
from reports.ledger import Record, is_explored, is_fresh, trial_key
from reports.ledger.record import seconds_of
from study.search.budget import Budget, Running
from study.search.design import Explorer, StudyDesign
from study.search.seed_race import StudySeedRace
from study.search.step_pace import StepPace
from study.trial import Trial
from trainables.recipe import Recipe

PACE_SHARE = 0.05
"""After this share of its steps, the length of a running training is guessed from their pace."""


class StudyProgress:
    """The state of one study, which its agenda shares with its exploration and its finals."""

    def __init__(
        self,
        design: StudyDesign,
        budget: Budget,
        records: Iterable[Record],
        explorer: Explorer | None,
        race: StudySeedRace | None,
    ) -> None:
        self.design, self.budget, self.explorer, self.race = design, budget, explorer, race
        self.done = {record.key: record for record in records}
        self.running: dict[str, Trial] = {}
        self.failed: set[str] = set()
        """Keys of trials that failed since this study began or was continued."""
        self.left_out: dict[str, Trial] = {}
        """Trials, by key, that a limit had no room for at the last check."""
        self._since: dict[str, float] = {}  # by key of a running trial: its begin in minutes (`Budget.now`)
        self._paces: dict[str, StepPace] = {}  # in minutes, by key of a running trial of the finals
        self._standings: tuple[int, RecordStandings | None] = (-1, None)  # with the number of trials done then

    def begin(self, trial: Trial) -> None:
        self.running[trial.key], self._since[trial.key] = trial, self.budget.now

    def step(self, key: str, step: int, steps: int) -> bool:
        """Take a step of a running trial, and return whether the trial would end late. If it is one of the finals, its
        length is guessed anew: it was guessed from a part of the data."""
        trial, now = self.running.get(key), self.budget.now
        if trial is None or not is_fresh(trial.seed) or self.budget.seconds_left() == math.inf:
            return False
        pace = self._paces.setdefault(key, StepPace())
        pace.stepped(now, step, steps)
        if pace.first and pace.a_step and pace.share >= PACE_SHARE:
            at, first = pace.first
            begin = max(0.0, at - self._since[key] - pace.a_step) if first == 1 else 0.0  # else it was resumed
            self.budget.pace(trial.recipe, begin + pace.a_step * steps + self._scoring)
        return self.ends_late(trial)

    def ends_late(self, trial: Trial) -> bool:
        """Whether a running trial would end after a limit in minutes, by its pace."""
        return self._is_late(self._left(trial))

    def _is_late(self, left: float | None) -> bool:
        """Whether a trial that still takes `left` minutes would end after a limit in minutes. None: unknown."""
        return left is not None and 60 * left > self.budget.seconds_left()

    def _left(self, trial: Trial) -> float | None:
        """Return the minutes that a running trial still takes, by its pace; None while that is unknown."""
        pace = self._paces.get(trial.key)
        left = pace.left(self.budget.now) if pace and pace.share >= PACE_SHARE else None
        return None if left is None else left + self._scoring

    @property
    def in_time(self) -> list[Trial]:
        """Running trials that a limit in minutes will not cut off, as far as is known."""
        return [trial for trial in self.running.values() if not self.ends_late(trial)]

    @property
    def _scoring(self) -> float:
        """Minutes to score a trial: as long as it took to score the base settings; 0 if that is unknown."""
        base = self.done.get(trial_key(self.design.base.hash, self.design.seeds[0]))
        return (seconds_of(base, "evaluation_seconds") or 0.0) / 60 if base else 0.0

    def end(self, key: str, record: Record | None) -> Trial:
        """Store the record of a running trial (None: it failed), and return the trial."""
        if record is None:
            self.failed.add(key)
        else:
            self.done[key] = record
            self.budget.add(record)
        self._paces.pop(key, None)
        return self.running.pop(key)

    def is_open(self, trial: Trial) -> bool:
        return not (trial.key in self.done or trial.key in self.running or trial.key in self.failed)

    def awaits(self, trial: Trial) -> bool:
        """Whether the trial runs, or is still to run and had room at the last check."""
        return trial.key in self.running or (self.is_open(trial) and trial.key not in self.left_out)

    @property
    def searching(self) -> list[Trial]:
        """Running trials that do not belong to the finals."""
        return [trial for trial in self.running.values() if not is_fresh(trial.seed)]

    @property
    def standings(self) -> RecordStandings:
        """Standings of recipes on all of the data, the same as in the report."""
        done, standings = self._standings
        if standings is None or done != len(self.done):
            design, explored = self.design, self.explorer.explored if self.explorer else ()
            own = [record for record in self.done.values() if is_explored(record.seed)]
            records = in_study_order(own, [*(trial.recipe_hash for trial in design.fixed), *explored])
            standings = RecordStandings(records, design.goals, design.limits, len(design.seeds) > 1)
            self._standings = len(self.done), standings
        return standings

    def ranked(self) -> list[Ranked]:
        """Return the recipes of `standings`, the best first; those that left a race over seeds come last."""
        raced = self.race.race.raced() if self.race else {}
        return self.standings.ranked(frozenset(key for key, recipe in raced.items() if recipe.lost))

    def fits(
        self,
        recipes: Sequence[Recipe],
        later: Sequence[Sequence[str]] = (),
        awaited: Callable[[Trial], bool] = lambda _: True,
        share: float = 1.0,
    ) -> bool:
        """Whether the limits have room for a trial of each recipe, then for the stages of recipe hashes in `later`.
        Stages begin after running trials that are `awaited` and do not end late. `share`: share of the limits that may
        be used."""
        self.budget.expect(recipes)
        now = self.budget.now
        sides: dict[bool, list[Running]] = {True: [], False: []}
        for key, trial in self.running.items():
            costs_as, since, left = self._costs_as(trial), now - self._since[key], self._left(trial)
            if left is not None:  # a resumed trial has begun long ago
                since = (self.budget.guess("minutes", costs_as) or 0.0) - left
            sides[awaited(trial) and not self._is_late(left)].append((costs_as, since))
        return self.budget.fits([recipe.hash for recipe in recipes], sides[True], later, sides[False], share)

    def will_fit(self, share: float, recipes: Sequence[Recipe], later: Sequence[Sequence[str]] = ()) -> bool:
        """As `fits`, for a later time: all running trials have ended, and only this share of the limits is usable."""
        self.budget.expect(recipes)
        return self.budget.fits([recipe.hash for recipe in recipes], (), later, share=share)

    def _costs_as(self, trial: Trial) -> str:
        """Return the recipe hash by which the trial's cost is guessed: for a soup, that of the original encoder."""
        finals = self.design.finals
        return finals.untrained.hash if trial.averaged and finals else trial.recipe_hash

    def trainings(self, without: Sequence[Record]) -> float | None:
        """Return how many trainings of the base settings on all data the limits have room for; None if unknown or
        unlimited. The cost of the trials `without` is not counted, so that a continued study decides as before."""
        self.budget.expect([self.design.base])
        return self.budget.trainings(self.design.base.hash, without)
