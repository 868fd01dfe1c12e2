"""The next recipe of a search: first the recipes that its space names, then those that Optuna proposes.

An adapter between the agenda and Optuna's ask-and-tell interface, over the journal in the results folder. Ray's own
`OptunaSearch` keeps its study in memory, reports a stopped trial's partial score as complete, and has no seeds.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import optuna
from optuna.trial import TrialState

from reports.facts.recipe_names import recipe_name
from reports.ledger import Record
from reports.ledger.finals import SHARE
from search_spaces.goals import values_at_rung, values_of
from search_spaces.limits import violations
from study.cli.terminal import printable
from study.plan import Plan
from study.search import journal
from study.search.ask_tell import AskTell
from study.search.changed_space import HASH, LEFT, ROW
from study.search.design import Explored
from study.search.ladder import WHOLE, Ladder, can_run
from study.search.points import means, point
from study.search.samplers import SAMPLERS
from trainables.recipe import Recipe, Value

MOST_DRAWS = 100
"""After this many draws in a row of recipes that cannot run, there is no next recipe."""

MOST_NAMED = 2
"""A key's value is not asked for again once errors of this many trainings with different settings named it as cause."""


class OptunaExplorer:
    """Chooses recipes by Optuna, and stores all recipes that Optuna proposed for this study, also in earlier runs."""

    def __init__(self, plan: Plan, on_ask: Callable[[], object] = lambda: None) -> None:
        """`on_ask` is called when a recipe is completely chosen, before it runs."""
        self.plan, self.on_ask = plan, on_ask
        self.goals = plan.space.searched_goals
        self.proposed: list[Explored] = []
        self.explored: list[str] = []
        """Hashes of all recipes ever asked for, in order, also of recipes outside a changed space."""
        self._unsuited: list[dict[str, Value]] = []
        """Settings that trainings could not run with: keys of data and encoder, and the key that the error named."""
        self._named: Counter[tuple[str, object]] = Counter()
        """How often errors named a key and its value, each time with other settings."""
        self._exhausted = False
        domains = plan.space.domains
        study = journal.open_journal(
            plan.results, plan.space.name, plan.request.sampler, self.goals, plan.base, domains
        )
        self.sampler = SAMPLERS[study.user_attrs[journal.SAMPLER]]
        self.ask_tell = AskTell(study, plan.base, domains, conditional=self.sampler.conditional)
        with journal.of_journal(plan.results):
            self.told_rows = journal.told_rows(study, plan.base, domains)
            self._continue(study)

    def has_more(self) -> bool:
        """False after `MOST_DRAWS` draws in a row that cannot run: the space has no further recipe for these data."""
        return not self._exhausted

    def ask(self, share: float) -> Explored | None:
        if (first := next(self._first(share), None)) is not None:
            self.ask_tell.enqueue(first)
        for attempt in range(MOST_DRAWS):
            if (sampler := self.sampler.drawing(len(self.proposed), attempt)) is not None:
                self.ask_tell.study.sampler = sampler
            with journal.of_sampler(self.sampler.name):
                trial, recipe = self.ask_tell.ask()
            if self._can_run(recipe, share):
                break
            self.ask_tell.study.tell(trial, state=TrialState.FAIL)
        else:
            self._exhausted = True
            return None
        journal.name_explored(trial, self._add(recipe).name, recipe)
        self.on_ask()
        return self.proposed[-1] if self.ask_tell.begin(trial.number, recipe, self.plan.seeds) else None

    def tell(self, recipe_hash: str, seed: int, record: Record | None) -> None:
        if record is not None and record.unsuited:
            flat = Recipe.from_flat(record.recipe).flat()
            read = [key for key in flat if key.startswith(("corpus.", "encoder.")) and key != SHARE]
            named = [key for key, value in flat.items() if record.unsuited.startswith(f"{key}={value} ")]
            self._unsuited.append({key: flat[key] for key in (*read, *named)})
            self._named.update((key, flat[key]) for key in named)
        if record is None:
            self.ask_tell.tell(recipe_hash, seed, None)
        else:
            self.ask_tell.tell(
                recipe_hash,
                seed,
                self._values(record),
                pruned=record.status == "pruned",
                rungs=self._rungs(record),
                violation=violations(self.plan.limits, record.cost),
            )

    def tell_row(self, recipe: Recipe, name: str, records: Sequence[Record | None]) -> None:
        """Add a row's results to Optuna, if its values are within the domains."""
        by_record = [self._values(record) for record in records if record is not None]
        values = [scores for scores in by_record if scores is not None]
        chosen = point(recipe, self.plan.base, self.plan.space.domains)
        if not values or len(values) < len(records) or chosen is None or recipe.hash in self.told_rows:
            return
        broken = [each for record in records if record and (each := violations(self.plan.limits, record.cost))]
        violation = means(broken) if broken else ()
        self.ask_tell.add(chosen, means(values), violation=violation, attributes={ROW: printable(name)})
        self.told_rows.add(recipe.hash)

    def _continue(self, study: optuna.Study) -> None:
        """Restore the recipes that earlier runs asked for, in order, and register those without results in Optuna."""
        plan = self.plan
        for trial in study.get_trials(deepcopy=False):
            recipe = journal.explored_recipe(trial, plan.base, plan.space.domains)
            if recipe is None:
                self.explored += [trial.user_attrs[HASH]] if LEFT in trial.user_attrs else []
                continue
            self._add(recipe)
            if trial.state == TrialState.RUNNING:
                self.ask_tell.begin(trial.number, recipe, plan.seeds)

    def _first(self, share: float) -> Iterator[dict[str, Value]]:
        """Yield the recipes that the space names first and that were not asked for yet, as the domains' values."""
        base = self.plan.base
        for changes in self.plan.space.first:
            recipe = base.preferring(changes)
            chosen = point(recipe, base, self.plan.space.domains)
            new = chosen is not None and recipe.hash not in (base.hash, *self.explored)
            if chosen is not None and new and self._can_run(recipe, share):
                yield chosen

    def _can_run(self, recipe: Recipe, share: float) -> bool:
        """Whether the recipe can train on this share of its data, as far as can be known before it trains."""
        flat = recipe.flat()
        if any(flat.get(key) == value and count >= MOST_NAMED for (key, value), count in self._named.items()):
            return False
        if any(all(flat.get(key) == value for key, value in settings.items()) for settings in self._unsuited):
            return False
        return not self._checks or can_run(recipe, self.plan.evaluation, share)

    @functools.cached_property
    def _checks(self) -> bool:
        """Whether recipes are checked before they train (`can_run`); not if the base settings fail the check."""
        return can_run(self.plan.base, self.plan.evaluation, Ladder.PROBE if self.plan.design.allows_parts else WHOLE)

    def _add(self, recipe: Recipe) -> Explored:
        before = next((explored for explored in self.proposed if explored.recipe.hash == recipe.hash), None)
        self.explored.append(recipe.hash)
        name = recipe_name(len(self.explored), recipe.flat(), self.plan.base.flat(), self.plan.space.domains)
        self.proposed.append(before or Explored(recipe, name))
        return self.proposed[-1]

    def _values(self, record: Record) -> list[float] | None:
        """Return the values of the searched goals. None if one is missing, and for an unfinished training, as its cost
        may be too low."""
        return values_of(self.goals, record.scores, record.cost) if record.status == "finished" else None

    def _rungs(self, record: Record) -> list[tuple[int, list[float]]]:
        """Return the goals' values at the rungs of a training; rungs where a goal was not scored are left out."""
        rungs = [
            (rung["rung"], values_at_rung(self.goals, rung["scores"])) for rung in record.training.get("rungs", ())
        ]
        return [(rung, values) for rung, values in rungs if values]
