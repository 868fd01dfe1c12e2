"""What runs next: the paper's rows first, then whatever Optuna asks for. A Tune `Searcher` over Optuna's ask and tell.

Ray's own `OptunaSearch` keeps its study in memory, tells a stopped trial's partial score as if it were complete, and
knows nothing of seeds; here the study is a journal file, stopped trials are pruned, and all seeds of a
recipe are one Optuna trial whose value is their mean.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import TrialState
from ray.tune.search import Searcher

from reports.ledger import Finals, Ledger, Record, is_fresh, split_key, trial_key
from reports.ledger.folders import POPULATIONS, is_key, together_key
from reports.recipe_names import recipe_name
from search_spaces.goals import searched, values_at_rung, values_of
from search_spaces.limits import violations
from study.cli.terminal import printable, say
from study.plan import Plan
from study.search import journal, until
from study.search.ask_tell import AskTell
from study.search.budget import Budget
from study.search.changed_space import HASH, LEFT, ROW
from study.search.finals import StudyFinals, fitted, shortage
from study.search.points import means, point
from study.search.samplers import SAMPLERS
from study.search.seed_race import StudySeedRace
from study.search.warm_start import WarmStart
from study.trial import Trial
from trainables.errors import UserError, reason
from trainables.files import check_plain
from trainables.recipe import Recipe
from trainables.trial import population_key, takes_turns
from trainables.typed_json import parse_json

LARGEST_POPULATION, ANCHORS_TOGETHER = 128, 32_768
"""Trials that train together at most, and anchors in a step of theirs, which bounds a device's memory: a population of
batch 512 has 64 members. Further trials go to the next free place in the cluster."""
MOST_TURNS = 8
"""Trials that take turns in a population at most: together they save memory, but no time."""
ASKED_TOGETHER = 8
"""Recipes that Optuna gives at once where they can train together; more would learn less from each other."""


class TuneSearcher(Searcher):
    """Hands out the trials that the ledger does not hold yet."""

    def __init__(
        self,
        plan: Plan,
        ledger: Ledger,
        asked: Callable[[list[str], Finals | None], object] = lambda *_: None,
        places: int = 1,
    ) -> None:
        """`asked` is told all explored recipes and what is known of the finals, whenever there is more; `places` are
        the tasks that run at once."""
        super().__init__(metric=None, mode=None)
        self.plan, self.ledger, self.asked = plan, ledger, asked
        self.begin: Callable[[list[Trial], bool], dict[str, Any] | None] | None = None
        """Has trials begun that run together, and gives Tune's config of them; None where the study must end. It is
        told whether they train in a population. Set once the cluster is there."""
        self.drain: Callable[[], bool] = lambda: True
        """Has trials settled that have ended; False where the study must end. While a record is awaited and nothing
        trains, Tune asks for a next trial over and over, and calls nothing else. Set once the cluster is there."""
        self.places, self.most = places, plan.explored
        """`most`: recipes that Optuna is asked for, fewer where `--until` ends the exploration."""
        self.goals = searched(plan.space.goals)
        self.budget = Budget(plan.limits, ledger.sift()[0] if plan.limits else (), places)
        fixed = plan.fixed_trials()
        self.queue = deque(trial for trial in fixed if not self._done(trial))
        self.running: dict[str, Trial] = {}
        """By key, those that were handed out and have neither a record nor failed."""
        self.failed: set[str] = set()
        """Keys of those that failed since this study's start; only the next start tries them again."""
        self.ask_tell = self._open() if plan.explored else None
        """Optuna's side, where it explores."""
        self.explored: list[str] = []
        if self.ask_tell is not None:
            with journal.of_journal(plan.results):
                self.told = journal.told_rows(self.ask_tell.study, plan.base, plan.space.domains)
                self._tell_rows(fixed)
                self._continue_asked()
            if until.has_ended(self.ask_tell, plan.request.until):
                self.most = len(self.explored)
        self.race = StudySeedRace(plan, ledger, self.explored) if plan.races else None
        self.finals = StudyFinals(plan, plan.finals, ledger) if plan.finals else None
        self.left_out: list[Trial] = []
        """Of the exploration, what the study's limits have no room for beside the finals."""
        self.cut_short = False
        """Whether the limits ended the exploration."""
        self.interrupted: deque[list[Trial]] = deque()
        self._queue_further_seeds()
        if self._short():
            self._cut_short()
        self._queue_finals()
        self.interrupted = deque(self._interrupted())
        while self._short() and self._pass_over():
            continue

    @property
    def remaining(self) -> int:
        """Trials that have no record yet, those that run included, as far as is known now."""
        open_recipes = max(0, self.most - len(self.explored))
        known = [*self.waiting(), *self.running.values()]
        searched = [trial for trial in known if not is_fresh(trial.seed)]
        raced = self.race.open(searched) if self.race else 0  # perhaps fewer
        later = len(self.left_out) + (self.finals.left(self.most) if self.finals else 0)
        return len(known) + self._undecided(known) + raced + open_recipes * self.plan.most_seeds + later

    def _undecided(self, known: Sequence[Trial]) -> int:
        """Further seeds of explored recipes whose first one may yet be stopped."""
        if not self.plan.first_decides:
            return 0
        first = [trial.recipe.hash for trial in known if self.plan.may_stop(trial)]
        there = {trial.key for trial in known}
        keys = (trial_key(recipe_hash, seed) for recipe_hash in first for seed in self.plan.seeds[1:])
        return sum(key not in there and not self.ledger.has(*split_key(key)) for key in keys)

    def waiting(self) -> Iterator[Trial]:
        """Those that are next, as far as they are chosen."""
        members = itertools.chain.from_iterable(self.interrupted)
        return itertools.chain((trial for trial in members if not self._done(trial)), self.queue)

    @property
    def limited(self) -> bool:
        """Whether trials are left, and the study's limits leave room for none of them."""
        if self.running or not self.remaining:
            return False
        return self._short() or (bool(self.cut_short or self.left_out) and next(self.waiting(), None) is None)

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        while (short := self._short()) or (self._may_ask and not self.queue and not self.interrupted):
            if not short:
                self._ask()
            elif self._pass_over():
                continue
            elif self._bring_forward():
                break
            elif self.running:
                return self._wait()  # those that run may take less than was guessed
            elif not self._cut_short():
                return Searcher.FINISHED
        self._queue_further_seeds()
        self._queue_finals()
        if not self.queue and not self.interrupted:
            undecided = self.race or (self.finals and self.finals.undecided)
            if not (undecided and self.running):
                return Searcher.FINISHED
            return self._wait()  # a record may be all that the race, or a choice of the finals, waits for
        members = self.interrupted.popleft() if self.interrupted else self._next()
        self.running.update({planned.key: planned for planned in members if not self._done(planned)})
        assert self.begin is not None
        return self.begin(members, self._population(members[0]) is not None) or Searcher.FINISHED

    def _wait(self) -> str | None:
        """No trial now, and where the study must end, none any more."""
        return None if self.drain() else Searcher.FINISHED

    def settle(self, key: str, record: Record | None) -> None:
        """A trial has its record now, or None where it failed."""
        planned = self.running.pop(key)
        if record is not None:
            self.budget.add(record)
        else:
            self.failed.add(key)
        if planned.row and self.finals and self._explores:
            self._fit_finals()
        if is_fresh(planned.seed):
            return  # what a fresh seed says must not reach any choice
        if self.race:
            self.race.tell(planned, planned.seed, record)
        if self.ask_tell is not None and planned.recipe.hash in self.ask_tell.groups:
            self._seed_finished(planned.recipe, planned.seed, record)
        elif self.ask_tell is not None and planned.row:
            self._tell_row(planned.recipe, planned.name)
        if self.plan.first_decides and planned.recipe.hash in self.explored and planned.seed == self.plan.seeds[0]:
            self._run(planned.recipe)

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Nothing: a trial counts once its record is kept (`settle`), which may be later."""

    def __getstate__(self) -> dict[str, Any]:
        """Nothing: Tune pickles its searcher beside a state of its own, which nobody reads."""
        return {}

    def save(self, checkpoint_path: str) -> None:
        """Nothing: the ledger and the journal already hold it all."""

    def restore(self, checkpoint_path: str) -> None:
        """Nothing: a study is continued from the ledger."""

    def room(self) -> float:
        """How many trials the study's limits still leave room for; infinite without any."""
        coming = sum(1 for _ in self.waiting()) + (self.finals.left(self._still_explored) if self.finals else 0)
        return min(self._room(0), coming) if self.cut_short else self._room(0)

    def _room(self, kept: int, like: str | None = None) -> float:
        """The same, beside so many trials for which room is kept; of those like that recipe, or like the next one."""
        following = next(self.waiting(), None)
        running = [planned.recipe.hash for planned in self.running.values()]
        self.budget.expect(planned.recipe for planned in (*self.running.values(), following) if planned)
        again = self.finals.asked.seeds if self.finals and kept else 0  # a finalist must have room for all its seeds
        return self.budget.room(running, like or (following.recipe.hash if following else None), kept, again)

    @property
    def _kept(self) -> int:
        """For how many trials of the finals what is next must leave room: none where it is of them itself, or a row's
        own seed."""
        following = next(self.waiting(), None)
        row = following is not None and following.row and following.seed in self.plan.seeds
        return self._of_finals if self._explores and not row else 0

    @property
    def _of_finals(self) -> int:
        """How many trials of theirs are to come, as whole trainings; what is queued behind the semifinal, too."""
        queued = sum(is_fresh(trial.seed) for trial in self.queue)
        return queued + self.finals.cost(self._still_explored) if self.finals else 0

    @property
    def _still_explored(self) -> int:
        """The recipes that were asked for by now and not stopped."""
        known = self.ask_tell.study.get_trials(deepcopy=False, states=(TrialState.PRUNED,)) if self.ask_tell else ()
        return len(self.explored) - len(known)

    def _short(self) -> bool:
        """Whether the study's limits have no room for what is next."""
        return self.remaining > len(self.running) and self._room(self._kept) < 1

    def _pass_over(self) -> bool:
        """Leave the next recipe out where it is too long, as of more epochs, and another has room: one that Optuna may
        ask for, if it takes as long as the base, or in the finals one that is in them. False where it is none of
        Optuna's, or many were too long already."""
        key = self.queue[0].recipe.hash if self.queue and not self.interrupted else None
        many = len({trial.recipe.hash for trial in self.left_out}) >= ASKED_TOGETHER
        if self._explores:
            other = key in self.explored and not many and self._may_ask
            other = other and self._room(self._kept, self.plan.base.hash) >= 1
        else:
            others = dict.fromkeys(trial.recipe.hash for trial in self.queue)
            other = key is not None and any(self._room(0, one) >= 1 for one in others if one != key)
        if not other:
            return False
        self.left_out += [trial for trial in self.queue if trial.recipe.hash == key]
        self.queue = deque(trial for trial in self.queue if trial.recipe.hash != key)
        return True

    def _bring_forward(self) -> bool:
        """Put a trial that the finals need, whoever is in them, before the next recipe, for which there may be room
        once those that run have ended: no place is idle until then. Not while a row runs, which may change the size of
        the finals, nor what is quicker in a population with others of them."""
        later = self.finals.later if self.finals and self._explores else []
        waits = not self.running or any(trial.row for trial in self.running.values()) or self.interrupted
        if not later or waits or self._population(later[0]) or self._room(0, later[0].recipe_hash) < 1:
            return False
        self.queue.appendleft(later.pop(0))
        return True

    def _cut_short(self) -> bool:
        """End the exploration where the finals still have room; False where there is none to end."""
        if self.finals is None or not self._explores:
            return False
        waiting = [*self.waiting()]
        self.cut_short, self.interrupted = True, deque()
        self.queue = deque(trial for trial in waiting if is_fresh(trial.seed))
        self.left_out += [trial for trial in waiting if not is_fresh(trial.seed)]
        return True

    @property
    def _may_ask(self) -> bool:
        return not self.cut_short and len(self.explored) < self.most

    @property
    def _explores(self) -> bool:
        """Whether trials before the finals are left to begin."""
        return self._may_ask or not all(is_fresh(trial.seed) for trial in self.waiting())

    def _fit_finals(self) -> None:
        """Make the finals smaller where they would leave less than half of a limit to explore."""
        plan = fitted(self.plan, self.ledger, self.places)
        if plan is not self.plan and plan.finals is not None:
            self.plan, self.finals = plan, StudyFinals(plan, plan.finals, self.ledger)
            self.asked(self.explored, self.finals.told)
            short = shortage(plan, self.ledger, self.places)
            say(printable(f"the finals are now {plan.finals.in_words()}" + f"; {short}" * bool(short)))

    def _queue_finals(self) -> None:
        """Queue the finals once nothing else is left to begin, the finalists once nothing else runs, and a learning
        curve once these have run."""
        if self.finals is None or self._explores:
            return
        chosen, parts = self.finals.finalists is not None, self.finals.parts is not None
        runs = bool(self.running) or next(self.waiting(), None) is not None
        self.queue.extend(self.finals.next(self.explored, self.running.values(), runs))
        self.queue = deque(sorted(self.queue, key=lambda trial: is_fresh(trial.seed)))  # finalists wait for a semifinal
        if not chosen and self.finals.finalists is not None:
            self.asked(self.explored, self.finals.told)
            if self.queue and parts == (self.finals.parts is not None):
                say(printable(self.finals.in_words()))
        if not parts and self.finals.parts is not None:
            self.asked(self.explored, self.finals.told)
            for sentence in self.finals.parts.said:
                say(printable(sentence))

    def _done(self, trial: Trial) -> bool:
        return self.ledger.has(trial.recipe.hash, trial.seed)

    def _queue_further_seeds(self) -> None:
        """Queue further seeds once all recipes are chosen and have their least ones, interrupted populations too."""
        if self.race and not self._explores and not self.cut_short:
            running = [trial for trial in self.running.values() if not is_fresh(trial.seed)]
            self.queue.extend(self.race.next(self.places, running))

    def _next(self) -> list[Trial]:
        """The next trial, and with it those that can train beside it in one population."""
        key = self._population(self.queue[0])
        if key is None:
            return [self.queue.popleft()]
        turns = takes_turns(self.queue[0].recipe)
        room = self._room(self._kept)
        while not turns and len(self.queue) < min(ASKED_TOGETHER, room) and self._may_ask:
            self._ask()
        first = self.queue.popleft()
        alike = [trial for trial in self.queue if self._population(trial) == key]
        largest = min(LARGEST_POPULATION, max(1, ANCHORS_TOGETHER // first.recipe.optimisation.batch_size))
        if turns:  # no place in the cluster should be idle for that
            largest = min(MOST_TURNS, math.ceil((1 + len(alike)) / self.places))
        beside = alike[: int(max(1, min(largest, room))) - 1]
        self.queue = deque(trial for trial in self.queue if trial not in beside)
        return [first, *beside]

    def _interrupted(self) -> Iterator[list[Trial]]:
        """Populations of an earlier run that have members without a record: only whole can they resume."""
        queued = {trial.key: trial for trial in self.queue if self._population(trial)}
        taken: set[str] = set()
        for path in sorted((self.plan.results / POPULATIONS).glob("*.json")):
            members = [
                None if key in taken else queued.get(key) or self._recorded(key) or self._raced(key)
                for key in members_of(path)
            ]
            waiting = [trial for trial in members if trial and not self._done(trial)]
            if waiting and None not in members:
                self.queue = deque(trial for trial in self.queue if trial not in waiting)
                taken.update(trial.key for trial in waiting)
                yield members  # type: ignore[misc]

    def _recorded(self, key: str) -> Trial | None:
        record = self.ledger.get(*split_key(key))
        return Trial(Recipe.from_flat(record.recipe), record.seed, "done") if record else None

    def _raced(self, key: str) -> Trial | None:
        """A seed that the race gave in an earlier run, and may not have come to yet in this one."""
        recipe_hash, seed = split_key(key)
        trial = self.race.named.get(recipe_hash) if self.race else None
        if trial is None or not self._population(trial) or seed >= self.plan.most_seeds:
            return None
        return Trial(trial.recipe, seed, trial.name, trial.row)

    def _population(self, trial: Trial) -> str | None:
        """Trials of one key may train together. A scheduler needs a trial by itself; and a population has one worker,
        so where each trial has several, those that would only take turns are quicker by themselves."""
        apart = takes_turns(trial.recipe) and self.plan.request.most_workers > 1
        return None if apart or self.plan.may_stop(trial) else population_key(trial.recipe)

    # --- Optuna

    def _open(self) -> AskTell:
        plan = self.plan
        domains = plan.space.domains
        study = journal.open_journal(
            plan.results, plan.space.name, plan.request.sampler, self.goals, plan.base, domains
        )
        self.sampler = SAMPLERS[study.user_attrs[journal.SAMPLER]]
        warm_start = WarmStart(plan.sources, domains) if plan.sources else None
        return AskTell(study, plan.base, domains, conditional=self.sampler.conditional, warm_start=warm_start)

    def _continue_asked(self) -> None:
        """Explored recipes of an earlier run: told ones count, interrupted ones are run to their end."""
        assert self.ask_tell is not None
        for trial in self.ask_tell.study.get_trials(deepcopy=False):
            recipe = journal.explored_recipe(trial, self.plan.base, self.plan.space.domains)
            if recipe is None:
                self.explored += [trial.user_attrs[HASH]] if LEFT in trial.user_attrs else []
                continue
            self.explored.append(recipe.hash)
            done = {seed for seed in self.plan.seeds if self.ledger.has(recipe.hash, seed)}
            if trial.state == TrialState.RUNNING:
                self.ask_tell.begin(trial.number, recipe, self.plan.seeds)
                self._run(recipe)
            elif len(done) < len(self.plan.seeds):
                self._run(recipe)

    def _ask(self) -> None:
        assert self.ask_tell is not None
        if until.enough(self.ask_tell, len(self.explored), self.plan.request.until):
            self.most = len(self.explored)
            return
        if (sampler := self.sampler.drawing(len(self.explored))) is not None:
            self.ask_tell.study.sampler = sampler
        with journal.of_sampler(self.sampler.name):
            number, recipe = self.ask_tell.ask(self._named)
        if self.ask_tell.begin(number, recipe, self.plan.seeds):  # else asked for twice while the first still runs
            self._run(recipe)

    def _named(self, trial: optuna.Trial, recipe: Recipe) -> None:
        self.explored.append(recipe.hash)
        journal.name_explored(trial, self._name(recipe), recipe)
        self.asked(self.explored, self.finals.told if self.finals else None)

    def _run(self, recipe: Recipe) -> None:
        """Queue the seeds of an explored recipe that nobody runs yet, the first alone while it may be stopped; those
        with a record, or that failed, are finished: a search may ask for a recipe again."""
        open_now = [*self.queue, *self.running.values()]  # a row may be the same
        coming = {planned.seed for planned in open_now if planned.recipe.hash == recipe.hash}
        first = self.ledger.get(recipe.hash, self.plan.seeds[0]) if self.plan.first_decides else None
        through = first is not None and first.status == "finished"
        for seed in self.plan.seeds if through or not self.plan.first_decides else self.plan.seeds[:1]:
            if self.ledger.has(recipe.hash, seed):
                self._seed_finished(recipe, seed, self.ledger.get(recipe.hash, seed))
            elif seed not in coming:
                planned = Trial(recipe, seed, self._name(recipe))
                if planned.key in self.failed:
                    self._seed_finished(recipe, seed, None)
                else:
                    self.queue.append(planned)

    def _name(self, recipe: Recipe) -> str:
        """What people call an explored recipe."""
        number = self.explored.index(recipe.hash) + 1
        return recipe_name(number, recipe.flat(), self.plan.base.flat(), self.plan.space.domains)

    def _seed_finished(self, recipe: Recipe, seed: int, record: Record | None) -> None:
        assert self.ask_tell is not None
        if record is None:
            self.ask_tell.tell(recipe.hash, seed, None)
        else:
            pruned, rungs = record.status == "pruned", self._rungs(record)
            broken = violations(self.plan.limits, record.cost)
            values = self._values(record)
            self.ask_tell.tell(recipe.hash, seed, values, pruned=pruned, rungs=rungs, violation=broken)

    def _values(self, record: Record) -> list[float] | None:
        """What is searched for: the space's goals, or the selection score. None where a part is missing, and for a
        training that did not come to its end, which may well have cost little."""
        return values_of(self.goals, record.scores, record.cost) if record.status == "finished" else None

    def _rungs(self, record: Record) -> list[tuple[int, list[float]]]:
        """The values at the rungs of its training, as far as all goals were scored there."""
        found = [
            (rung["rung"], values_at_rung(self.goals, rung["scores"])) for rung in record.training.get("rungs", ())
        ]
        return [(rung, values) for rung, values in found if values]

    def _tell_rows(self, fixed: Iterable[Trial]) -> None:
        for trial in {trial.recipe.hash: trial for trial in fixed}.values():
            self._tell_row(trial.recipe, trial.name)

    def _tell_row(self, recipe: Recipe, label: str) -> None:
        """Let Optuna learn from a row whose seeds are all done, if its values lie in the domains."""
        assert self.ask_tell is not None
        seeds = self.plan.seeds if recipe.uses_seed else [0]  # one that no seed changes is run once
        records = [self.ledger.get(recipe.hash, seed) for seed in seeds]
        found = [self._values(record) for record in records if record is not None]
        values = [scores for scores in found if scores is not None]
        chosen = point(recipe.flat(), self.plan.base, self.plan.space.domains)
        elsewhere = chosen is None or self.plan.base.override(chosen) != recipe
        if len(values) < len(records) or chosen is None or elsewhere or recipe.hash in self.told:
            return
        broken = [each for record in records if record and (each := violations(self.plan.limits, record.cost))]
        violation = means(broken) if broken else ()
        self.ask_tell.add(chosen, means(values), violation=violation, attributes={ROW: printable(label)})
        self.told.add(recipe.hash)


def members_of(path: Path) -> list[str]:
    """The keys of those that train together; `UserError` for a file that does not hold them."""
    try:
        check_plain(path)
        keys = parse_json(path.read_bytes())
        if not isinstance(keys, list) or not all(isinstance(key, str) and is_key(key) for key in keys):
            raise ValueError("it is no list of trials")
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} does not say which trials train together ({reason(error)}); remove it, and they begin anew"
        ) from None
    return keys


def files_key(members: Sequence[Trial]) -> str:
    """Names the files of trials that run together; of one alone, its own key."""
    return together_key([member.key for member in members])
