"""What runs next: the paper's rows first, then whatever Optuna asks for. A Tune `Searcher` over Optuna's ask and tell.

Ray's own `OptunaSearch` keeps its study in memory, tells a stopped trial's partial score as if it were complete, and
knows nothing of seeds; here the study is a journal file, stopped trials are pruned, and all seeds of a
recipe are one Optuna trial whose value is their mean.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.trial import TrialState
from ray.tune.search import Searcher

from reports.distributions import contains, distribution, suggest
from reports.ledger import Ledger, Record, split_key
from reports.racing import values_of
from study.journal import add_row, explored_recipe, name_explored, open_journal, told_rows
from study.plan import Plan, PlannedTrial, applies
from study.racing import StudyRace
from study.samplers import SAMPLERS
from study.schedulers import SCHEDULERS
from study.spec import POPULATIONS
from trainables.recipe import Recipe, Value
from trainables.trial import population_key, takes_turns

LARGEST_POPULATION, ANCHORS_TOGETHER = 128, 32_768
"""Trials that train together at most, and anchors in a step of theirs, which bounds a device's memory: a population of
batch 512 has 64 members. Further trials go to the next free place in the cluster."""
MOST_TURNS = 8
"""Trials that take turns in a population at most: together they save memory, but no time."""
ASKED_TOGETHER = 8
"""Recipes that Optuna gives at once where they can train together; more would learn less from each other."""


@dataclass
class _Group:
    """The seeds of one explored recipe, which are one Optuna trial."""

    number: int
    waiting: set[int]
    scores: dict[int, list[float] | None] = field(default_factory=dict)
    pruned: bool = False
    failed: bool = False


class StudySearcher(Searcher):
    """Hands out the trials that the ledger does not hold yet."""

    def __init__(self, plan: Plan, ledger: Ledger, asked: Callable[[list[str]], object] = lambda hashes: None) -> None:
        """`asked` is told all explored recipes whenever there is one more."""
        super().__init__(metric=None, mode=None)
        self.plan, self.ledger, self.asked = plan, ledger, asked
        self.task_of: Callable[[list[PlannedTrial], bool], dict[str, Any] | None] | None = None
        """Makes Tune's config of trials that run together; it is told whether they train in a population. Set once the
        cluster is there."""
        self.places = 1
        """Tasks that run at once. Set once the cluster is there."""
        self.scheduled = SCHEDULERS[plan.request.scheduler].stops
        fixed = plan.fixed_trials()
        self.queue = deque(trial for trial in fixed if not self._done(trial))
        self.running: dict[str, PlannedTrial] = {}
        """By key, those that were handed out and have neither a record nor failed."""
        self.groups: dict[str, _Group] = {}
        self.optuna = self._open() if plan.explored else None
        self.explored: list[str] = []
        if self.optuna is not None:
            self.told = told_rows(self.optuna, plan.base)
            self._tell_rows(fixed)
            self._continue_asked()
        self.race = StudyRace(plan, ledger, self.explored) if plan.races else None
        self._race_on()
        self.interrupted = deque(self._interrupted())

    @property
    def remaining(self) -> int:
        """Trials that have no record yet, those that run included, as far as is known now."""
        open_recipes = max(0, self.plan.explored - len(self.explored))
        undone = sum(not self._done(trial) for members in self.interrupted for trial in members)
        raced = self.race.open([*self.queue, *self.running.values()]) if self.race else 0  # perhaps fewer
        return len(self.queue) + len(self.running) + undone + raced + open_recipes * self.plan.most_seeds

    def waiting(self) -> Iterator[PlannedTrial]:
        """Those that are next, as far as they are chosen."""
        members = itertools.chain.from_iterable(self.interrupted)
        return itertools.chain((trial for trial in members if not self._done(trial)), self.queue)

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        while not self.queue and not self.interrupted and len(self.explored) < self.plan.explored:
            self._ask()
        self._race_on()
        if not self.queue and not self.interrupted:
            return None if self.race and self.running else Searcher.FINISHED
        members = self.interrupted.popleft() if self.interrupted else self._next()
        self.running.update({planned.key: planned for planned in members if not self._done(planned)})
        assert self.task_of is not None
        return self.task_of(members, self._population(members[0]) is not None)

    def settle(self, key: str, record: Record | None) -> None:
        """A trial has its record now, or None where it failed."""
        planned = self.running.pop(key)
        if self.race:
            self.race.told(planned, planned.seed, record)
        if planned.recipe.hash in self.groups:
            self._seed_finished(planned.recipe, planned.seed, record)
        elif self.optuna is not None and planned.row:
            self._tell_row(planned.recipe, planned.name)

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Nothing: a trial counts once its record is kept (`settle`), which may be later."""

    def __getstate__(self) -> dict[str, Any]:
        """Nothing: Tune pickles its searcher beside a state of its own, which nobody reads."""
        return {}

    def save(self, checkpoint_path: str) -> None:
        """Nothing: the ledger and the journal already hold it all."""

    def restore(self, checkpoint_path: str) -> None:
        """Nothing: a study is continued from the ledger."""

    def _done(self, trial: PlannedTrial) -> bool:
        return self.ledger.has(trial.recipe.hash, trial.seed)

    def _race_on(self) -> None:
        """Queue further seeds once all recipes are chosen and have their least ones."""
        if self.race and not self.queue and len(self.explored) >= self.plan.explored:
            self.queue.extend(self.race.next(self.places, self.running.values()))

    def _next(self) -> list[PlannedTrial]:
        """The next trial, and with it those that can train beside it in one population."""
        key = self._population(self.queue[0])
        if key is None:
            return [self.queue.popleft()]
        turns = takes_turns(self.queue[0].recipe)
        while not turns and len(self.queue) < ASKED_TOGETHER and len(self.explored) < self.plan.explored:
            self._ask()
        first = self.queue.popleft()
        alike = [trial for trial in self.queue if self._population(trial) == key]
        largest = min(LARGEST_POPULATION, max(1, ANCHORS_TOGETHER // first.recipe.optimisation.batch_size))
        if turns:  # no place in the cluster should be idle for that
            largest = min(MOST_TURNS, math.ceil((1 + len(alike)) / self.places))
        beside = alike[: largest - 1]
        self.queue = deque(trial for trial in self.queue if trial not in beside)
        return [first, *beside]

    def _interrupted(self) -> Iterator[list[PlannedTrial]]:
        """Populations of an earlier run that have members without a record: only whole can they resume."""
        queued = {trial.key: trial for trial in self.queue if self._population(trial)}
        for path in sorted((self.plan.results / POPULATIONS).glob("*.json")):
            members = [queued.get(key) or self._recorded(key) for key in json.loads(path.read_text())]
            waiting = [trial for trial in members if trial and trial.key in queued]
            if waiting and None not in members:
                self.queue = deque(trial for trial in self.queue if trial not in waiting)
                for trial in waiting:
                    del queued[trial.key]
                yield members  # type: ignore[misc]

    def _recorded(self, key: str) -> PlannedTrial | None:
        record = self.ledger.get(*split_key(key))
        return PlannedTrial(Recipe.from_flat(record.recipe), record.seed, "done", row=False) if record else None

    def _population(self, trial: PlannedTrial) -> str | None:
        """Trials of one key may train together. A scheduler needs a trial by itself; and a population has one worker,
        so where each trial has several, those that would only take turns are quicker by themselves."""
        apart = takes_turns(trial.recipe) and self.plan.request.most_workers > 1
        return None if apart or (self.scheduled and not trial.row) else population_key(trial.recipe)

    # --- Optuna

    def _open(self) -> optuna.Study:
        plan = self.plan
        return open_journal(plan.results, plan.space.name, SAMPLERS[plan.request.sampler].build, plan.space.goals)

    def _continue_asked(self) -> None:
        """Explored recipes of an earlier run: told ones count, interrupted ones are run to their end."""
        assert self.optuna is not None
        for trial in self.optuna.get_trials(deepcopy=False):
            recipe = explored_recipe(trial, self.plan.base)
            if recipe is None:
                continue
            self.explored.append(recipe.hash)
            done = {seed for seed in self.plan.seeds if self.ledger.has(recipe.hash, seed)}
            if trial.state == TrialState.RUNNING or len(done) < len(self.plan.seeds):
                self._start_group(trial.number, recipe, running=trial.state == TrialState.RUNNING)

    def _ask(self) -> None:
        assert self.optuna is not None
        trial = self.optuna.ask()
        chosen: dict[str, Value] = {}
        for domain in self.plan.space.domains:
            if applies(domain, chosen, self.plan.base):
                chosen[domain.key] = suggest(trial, domain)
        recipe = self.plan.base.override(chosen)
        self.explored.append(recipe.hash)
        name_explored(trial, self._name(recipe))
        self.asked(self.explored)
        if recipe.hash in self.groups:  # asked for twice while the first still runs
            self.optuna.tell(trial.number, state=TrialState.FAIL)
            return
        self._start_group(trial.number, recipe, running=True)

    def _start_group(self, number: int, recipe: Recipe, running: bool) -> None:
        seeds = set(self.plan.seeds)
        if running:
            self.groups[recipe.hash] = _Group(number, set(seeds))
        open_now = [*self.queue, *self.running.values()]  # a row may be the same
        coming = {planned.seed for planned in open_now if planned.recipe.hash == recipe.hash}
        for seed in sorted(seeds):
            if self.ledger.has(recipe.hash, seed):
                self._seed_finished(recipe, seed, self.ledger.get(recipe.hash, seed))
            elif seed not in coming:
                self.queue.append(PlannedTrial(recipe, seed, self._name(recipe), row=False))

    def _name(self, recipe: Recipe) -> str:
        """What people call an explored recipe."""
        return f"optuna {self.explored.index(recipe.hash) + 1}"

    def _seed_finished(self, recipe: Recipe, seed: int, record: Record | None) -> None:
        group = self.groups.get(recipe.hash)
        if group is None:
            return
        group.waiting.discard(seed)
        group.failed |= record is None
        group.pruned |= record is not None and record.status == "pruned"
        group.scores[seed] = self._values(record) if record else None
        if group.waiting:
            return
        del self.groups[recipe.hash]
        assert self.optuna is not None
        values = [scores for scores in group.scores.values() if scores is not None]
        if group.pruned:
            self.optuna.tell(group.number, state=TrialState.PRUNED)
        elif group.failed or len(values) < len(group.scores):
            self.optuna.tell(group.number, state=TrialState.FAIL)
        else:
            self.optuna.tell(group.number, _means(values))

    def _values(self, record: Record) -> list[float] | None:
        """What is maximised: the selection score, or the space's goals. None where a part is missing."""
        return values_of(record.scores, self.plan.space.goals)

    def _tell_rows(self, fixed: Iterable[PlannedTrial]) -> None:
        for trial in {trial.recipe.hash: trial for trial in fixed}.values():
            self._tell_row(trial.recipe, trial.name)

    def _tell_row(self, recipe: Recipe, label: str) -> None:
        """Let Optuna learn from a row whose seeds are all done, if its values lie in the domains."""
        assert self.optuna is not None
        seeds = self.plan.seeds if recipe.uses_seed else [0]  # one that no seed changes is run once
        records = [self.ledger.get(recipe.hash, seed) for seed in seeds]
        found = [self._values(record) for record in records if record is not None]
        values = [scores for scores in found if scores is not None]
        params = _parameters(recipe, self.plan)
        if len(values) < len(records) or params is None or recipe.hash in self.told:
            return
        add_row(self.optuna, label, *params, _means(values))
        self.told.add(recipe.hash)


def files_key(members: Sequence[PlannedTrial]) -> str:
    """Names the files of trials that run together; of one alone, its own key."""
    if len(members) == 1:
        return members[0].key
    return "population-" + hashlib.sha256("".join(member.key for member in members).encode()).hexdigest()[:12]


def _means(scores: Sequence[Sequence[float]]) -> list[float]:
    """The mean over seeds of every goal."""
    return [sum(values) / len(values) for values in zip(*scores, strict=True)]


def _parameters(recipe: Recipe, plan: Plan) -> tuple[dict[str, Value], dict[str, BaseDistribution]] | None:
    """A recipe as a point of the search space; None where it is not one."""
    flat = recipe.flat()
    chosen: dict[str, Value] = {}
    distributions: dict[str, BaseDistribution] = {}
    for domain in plan.space.domains:
        if not applies(domain, chosen, plan.base):
            continue
        if not contains(domain, flat[domain.key]):
            return None
        chosen[domain.key], distributions[domain.key] = flat[domain.key], distribution(domain)
    return (chosen, distributions) if plan.base.override(chosen) == recipe else None
