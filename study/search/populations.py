"""The trials of an agenda that train together, in one population."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from reports.ledger import is_fresh, split_key
from reports.ledger.folders import POPULATIONS, is_key
from study.plan import Plan
from study.search.agenda import Agenda
from study.trial import Trial
from trainables.errors import UserError, reason
from trainables.files import check_plain
from trainables.recipe import Recipe
from trainables.trial import population_key
from trainables.typed_json import parse_json

LARGEST_POPULATION, ANCHORS_TOGETHER = 128, 32_768
"""The largest number of trials in a population, and of anchors in one step of the whole population. The second bounds a
device's memory: with batch size 512 a population has 64 members. Further trials go to the next free place."""
ASKED_TOGETHER = 8
"""Number of recipes that Optuna proposes at once if they can train together; more would learn less from each other."""


class Populations:
    """Takes trials from an agenda, and groups those that can train together."""

    def __init__(self, plan: Plan, agenda: Agenda) -> None:
        self.plan, self.agenda = plan, agenda
        self.interrupted = [*self._interrupted()]
        """Populations of an earlier run that have members without a record. They resume first, and only as a whole."""

    def next(self) -> list[Trial]:
        """Return one trial, or one population, that begins now; empty if no trial can begin."""
        if self.interrupted:
            return self.interrupted.pop(0)
        first = self.agenda.next()
        if first is None:
            return []
        key = self.key(first)
        if key is None:
            return [first]
        alike = [trial for trial in self.agenda.waiting() if self.key(trial) == key]
        alike = [trial for trial in alike if is_fresh(trial.seed) == is_fresh(first.seed)]
        largest = min(LARGEST_POPULATION, max(1, ANCHORS_TOGETHER // first.recipe.optimisation.batch_size))
        members = [first]
        for trial in alike:
            if len(members) < largest and self.agenda.claim(trial, limited=True):
                members.append(trial)
        while len(members) < min(largest, ASKED_TOGETHER) and (further := self.agenda.next()) is not None:
            if self.key(further) != key:
                self.agenda.give_back(further)
                break
            members.append(further)
        return members

    def key(self, trial: Trial) -> str | None:
        """Return a key; trials with the same key may train together. None if the trial runs alone, because it is a
        soup, because it may be stopped, or because its recipe does not fit into a population."""
        return None if trial.averaged or self.plan.may_stop(trial) else population_key(trial.recipe)

    def _interrupted(self) -> Iterator[list[Trial]]:
        taken: set[str] = set()
        waiting = {trial.key: trial for trial in self.agenda.waiting() if self.key(trial)}
        for path in sorted((self.plan.results / POPULATIONS).glob("*.json")):
            keys = members_of(path)
            members = [
                None if key in taken else waiting.get(key) or self._recorded(key) or self._raced(key) for key in keys
            ]
            planned = [trial for trial in members if trial is not None]
            open_now = [trial for trial in planned if trial.key not in self.agenda.progress.done]
            if open_now and len(planned) == len(members) and all(map(self.agenda.claim, open_now)):
                taken.update(trial.key for trial in open_now)
                yield planned

    def _recorded(self, key: str) -> Trial | None:
        record = self.agenda.progress.done.get(key)
        return Trial(Recipe.from_flat(record.recipe), record.seed, "done") if record else None

    def _raced(self, key: str) -> Trial | None:
        """Return a trial of a race in an earlier run, even if the race has not asked for it again in this run."""
        recipe_hash, seed = split_key(key)
        trial = self.agenda.race.named.get(recipe_hash) if self.agenda.race else None
        if trial is None or not self.key(trial) or seed >= self.plan.most_seeds:
            return None
        return Trial(trial.recipe, seed, trial.name, trial.row)


def members_of(path: Path) -> list[str]:
    """Return the keys of trials that train together, from a file; `UserError` if the file does not contain them."""
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
    """Return the name of the files of trials that run together; for a single trial, its own key."""
    keys = [member.key for member in members]
    return keys[0] if len(keys) == 1 else "population-" + hashlib.sha256("".join(keys).encode()).hexdigest()[:12]
