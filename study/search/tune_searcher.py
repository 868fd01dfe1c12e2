"""The agenda of a study as a Tune `Searcher`, built from the plan, the ledger and the journal."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ray.tune.search import Searcher

from reports.facts.answer import Answer
from reports.facts.results import Results
from reports.ledger import Finals, Ledger, Record, StudyInfo
from reports.ledger.study_info import Limited
from study.cli.terminal import printable, say
from study.plan import Plan
from study.search.after_finals import PlannedCurve, plan_curve, plan_soups
from study.search.agenda import Agenda
from study.search.agenda_words import LATER, SOONER, finals_in_words, plan_in_words
from study.search.budget import Budget
from study.search.explorer import OptunaExplorer
from study.search.populations import Populations
from study.search.seed_race import StudySeedRace
from study.trial import Trial
from trainables.recipe import Recipe


class TuneSearcher(Searcher):
    """Suggests the trials that the ledger does not contain yet."""

    def __init__(
        self,
        plan: Plan,
        ledger: Ledger,
        on_news: Callable[[list[str], Finals | None], object] = lambda *_: None,
        places: int = 1,
    ) -> None:
        """`on_news` is called with the hashes of all explored recipes and the finals, whenever either changes.
        `places`: number of tasks that run at once."""
        super().__init__(metric=None, mode=None)
        self.plan, self.on_news = plan, on_news
        self.begin: Callable[[Sequence[Trial], bool], dict[str, Any] | None] | None = None
        """Begins trials that run together, and returns Tune's config of them; None if the study must end. The second
        argument is whether they train in a population. Set once the cluster is known."""
        self.drain: Callable[[], bool] = lambda: True
        """Settles trials that have ended; returns False if the study must end. While a record is awaited and nothing
        trains, Tune repeatedly asks for a next trial, and calls nothing else. Set once the cluster is known."""
        self.goals = plan.space.searched_goals
        records = ledger.sift()[0]
        self.budget = Budget(plan.limits, records if plan.limits else (), places)
        self.explorer = OptunaExplorer(plan, self._announce) if plan.explored else None
        self.planned_curve = PlannedCurve()
        done = [whole for record in records if (whole := ledger.get(record.recipe_hash, record.seed))]
        self.agenda = Agenda(
            plan.design,
            self.budget,
            done,
            self.explorer,
            self._race(done) if plan.races else None,
            self._plan_curve if plan.finals and plan.finals.curve else None,
            self._plan_soups if plan.finals and plan.finals.soup else None,
        )
        self.populations = Populations(plan, self.agenda)
        self._announced = self._state

    @property
    def explored(self) -> list[str]:
        """Hashes of all recipes that the search ever asked for."""
        return self.explorer.explored if self.explorer else []

    @property
    def finals(self) -> Finals | None:
        """The finals as `study.json` stores them; None if there are none."""
        finals = self.agenda.finals
        return finals.facts(self.agenda.finalists, self.planned_curve.curve) if finals else None

    def has_next(self) -> bool:
        """Whether a trial is left to run for which the study's limits have room."""
        first = self.agenda.next()
        if first is not None:
            self.agenda.give_back(first)
        return bool(first or self.populations.interrupted)

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        members = self.populations.next()
        self._announce()
        if not members:
            return None if self.agenda.awaits_records and self.drain() else Searcher.FINISHED
        assert self.begin is not None
        return self.begin(members, self.populations.key(members[0]) is not None) or Searcher.FINISHED

    def settle(self, key: str, record: Record | None) -> None:
        """Take the record of a trial that has ended; None: the trial failed."""
        self.agenda.tell(key, record)

    def on_trial_complete(self, trial_id: str, result: dict[str, object] | None = None, error: bool = False) -> None:
        """Do nothing: a trial counts once its record is written (`settle`), which may be later."""

    def __getstate__(self) -> dict[str, object]:
        """Return an empty state: Tune pickles its searcher, and nothing reads the pickle."""
        return {}

    def save(self, checkpoint_path: str) -> None:
        """Do nothing: the ledger and the journal contain all state."""

    def restore(self, checkpoint_path: str) -> None:
        """Do nothing: a study is continued from the ledger."""

    def _announce(self) -> None:
        """Call `on_news`, and print the plan and the finals, if the search has changed since the last call."""
        before, self._announced = self._announced, self._state
        if before == self._announced:
            return
        self.on_news(self.explored, self.finals)
        first, had, has = before[3] is None, before[1] is not None, self.agenda.finals is not None
        if self.agenda.ladder is not None and (first or had != has) and (plan := plan_in_words(self.agenda)):
            say(printable(plan if first else f"{SOONER if has else LATER}: {plan}"))
        earlier, finalists = before[2] or (), self._announced[2]
        if has and finalists is not None and finalists != before[2] and (earlier or self.agenda.waiting()):
            say(printable(finals_in_words(self.agenda, earlier)))

    @property
    def _state(self) -> tuple[int, object, list[str] | None, object, PlannedCurve]:
        """The number of recipes asked for, the finals' size, the finalists' names, the ladder, and the curve."""
        agenda = self.agenda
        names = None if agenda.finalists is None else [finalist.name for finalist in agenda.finalists]
        return len(self.explored), agenda.finals, names, agenda.ladder, self.planned_curve

    def _race(self, done: Sequence[Record]) -> StudySeedRace:
        plan = self.plan
        baseline = plan.rows.get(plan.space.baseline or "")
        records = {record.key: record for record in done}
        race = StudySeedRace(
            plan.design.fixed, plan.seeds, plan.most_seeds, self.goals, baseline.hash if baseline else None, records
        )
        for explored in self.explorer.proposed if self.explorer else ():
            race.enter(Trial(explored.recipe, 0, explored.name))
        return race

    def _plan_curve(self) -> Mapping[str, Recipe]:
        """Return the recipes of the learning curve; called once the answer is known."""
        self.planned_curve = plan_curve(self._results, self._finals_recipes, self.plan.evaluation)
        for sentence in self.planned_curve.sentences:
            say(printable(sentence))
        return self.planned_curve.recipes

    def _plan_soups(self) -> Sequence[Trial]:
        return plan_soups(self._results, self._finals_recipes)

    def shipped(self) -> str | None:
        """Return the key of the trial of the soup to ship; None if there is none."""
        averaged = Answer.of(self._results).averaged
        return averaged.rpartition("/")[2] if averaged else None

    @property
    def limited(self) -> Limited:
        """Facts about the limit that ended the study; empty if no limit did."""
        if not self.agenda.limited:
            return {}
        limited = self.budget.ended(self.agenda.remaining)
        return {**limited, "least": self.agenda.rounds.least(limited["limit"])}

    @property
    def _results(self) -> Results:
        """The results with the present state of the search; an answer needs finals that are whole or cut by a limit."""
        before = StudyInfo.load(self.plan.results)
        explored = [*dict.fromkeys([*before.explored, *self.explored])]
        info = dataclasses.replace(before, explored=explored, finals=self.finals, limited=self.limited)
        return Results.of(self.plan.results, info, self.plan.space)

    @property
    def _finals_recipes(self) -> list[Recipe]:
        agenda = self.agenda
        entrants = [*(agenda.finalists or ()), *(agenda.finals.references if agenda.finals else ())]
        return [entrant.recipe for entrant in entrants]
