"""The trials that a study will still run, by its agenda and limits. A forecast lays them out on the study's places."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from reports.ledger import is_fresh
from search_spaces.limits import LIMITS
from study.search.agenda import Agenda
from study.search.budget import SLACK, Budget, makespan
from study.search.exploration import Exploration
from study.search.final_rounds import Fits
from study.search.finals import rounds
from study.search.ladder import PARTS_SHARE, RATIO


@dataclass(frozen=True)
class Outlook:
    """The trials that are still to come, each as the hash of its recipe; None for a recipe that is not chosen yet."""

    trials: Sequence[str | None] = ()
    """Trials before the finals: rows, recipes of the search, further seeds."""
    rounds: Sequence[Sequence[str]] = ()
    """Rounds of the finals, one per seed, that a limit in minutes has room for. They begin after `trials` end."""
    awaited: Collection[str] = ()
    """Recipes of running trials that may decide which recipes are finalists, and so must end before the finals."""
    after: Sequence[str] = ()
    """Trials after the finals: soups, each as dear as scoring the original encoder, and those of a learning curve."""
    exploring_seconds: float = 0.0
    """Seconds for which recipes are explored if a limit in minutes bounds them; infinite until a training has ended."""
    seconds_left: float = math.inf
    """Seconds until the limit in minutes."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Guessed seconds of a trial of each recipe, by recipe hash (`Budget.guess`). Empty without a limit in minutes."""
    after_wait: Callable[[float], Outlook] | None = None
    """Returns the outlook if the `awaited` trials end in this many seconds: the finalists depend on that. None if no
    trial is awaited, or if recipes are still explored."""

    @property
    def trial_count(self) -> int:
        """Number of trials that will begin, as far as is known."""
        return len(self.trials) + sum(map(len, self.rounds)) + len(self.after)


def outlook(agenda: Agenda, wait: float = 0.0) -> Outlook:
    """Return the trials still to come. `wait`: seconds until the trials that decide on the finals have ended."""
    exploration, finals, budget = agenda.exploration, agenda.rounds, agenda.budget
    left, chooses = budget.seconds_left(), finals.finalists is None
    passed = {*agenda.progress.left_out, *(trial.key for trial in exploration.queue if not chooses)}
    waiting = [trial for trial in agenda.waiting() if trial.key not in passed]
    before: list[str | None] = [trial.recipe_hash for trial in waiting if not is_fresh(trial.seed)]
    exploring_seconds, room, fits = 0.0, exploration.unasked * len(agenda.design.seeds), agenda.progress.fits
    if exploration.opens_more and budget.limits:
        exploring_seconds, room, share = _exploring(exploration, budget, len(before))
        fits = functools.partial(agenda.progress.will_fit, share)
    elif wait and left < math.inf:
        fits = functools.partial(agenda.progress.will_fit, 1 - wait / (60 * budget.limits["minutes"]))
    further, base = finals_to_come(agenda, fits), agenda.design.base.hash
    after: list[str] = []
    if finals.size:
        soups = sum(bool(trial.averaged) for trial in waiting)
        if agenda.plan_soups is not None and (chooses or finals.open):  # soups are asked for once the finals have ended
            soups = finals.size.most_soups
        after = [finals.size.untrained.hash] * soups + [base] * finals.size.curve_trainings * (
            agenda.curve_recipes is None
        )
    awaited = {trial.recipe_hash for trial in agenda.awaited}
    running = [trial.recipe_hash for trial in agenda.progress.running.values()]
    if exploration.opens_more and not exploring_seconds:
        before += [exploration.first.hash if budget.limits else None] * room
    seconds = _seconds(budget, [*running, *filter(None, before), *itertools.chain(*further)]) if left < math.inf else {}
    after_wait = functools.partial(outlook, agenda) if awaited and not exploring_seconds else None
    return Outlook(before, further, awaited, after, exploring_seconds, left, seconds, after_wait)


def _exploring(exploration: Exploration, budget: Budget, waiting: int) -> tuple[float, int, float]:
    """Return three numbers: the seconds for which recipes are explored if a limit in minutes bounds that time, the
    largest number of their trials, and the share of the limits that the exploration still to come leaves over."""
    unasked = exploration.unasked * len(exploration.design.seeds)
    if exploration.finals.rooms is None:  # no training has ended
        return math.inf, unasked, 1.0
    parts = exploration.ladder.shares if exploration.ladder else ()
    room, exploring_seconds, each = unasked, 0.0, {name: _recipe_takes(exploration, name) for name in budget.limits}
    stages = exploration.reserved_stages
    for name, limit in budget.limits.items():
        costs = [[budget.guess(name, later) or 0.0 for later in stage] for stage in stages]
        rest, for_parts = limit - budget.spent(name), PARTS_SHARE * limit - budget.spent(name) if parts else 0.0
        if LIMITS[name].clock:
            exploring_seconds = 60 * max(0.0, for_parts, rest - SLACK * makespan((), budget.places, (), costs))
        elif each[name]:
            amount = max(0.0, for_parts, rest - math.fsum(itertools.chain(*costs)))
            room = min(room, int(amount / each[name]))
    used = []
    for name, limit in budget.limits.items():
        if LIMITS[name].clock and each[name]:  # exploration ends sooner if no recipe is left to ask for
            last = 60 * each[name] * (waiting + room) / budget.places
            exploring_seconds = min(exploring_seconds, last)
        used.append((exploring_seconds / 60 if LIMITS[name].clock else room * each[name]) / limit)
    return exploring_seconds, room, 1.0 - min(used)


def _recipe_takes(exploration: Exploration, limit: str) -> float:
    """Return the mean cost of exploring a recipe, in the limit's unit, on the smallest part and on larger ones. It is
    the mean of the recipes so far, which may take longer than the base settings. Until some have ended, a third of the
    recipes is assumed to go on to each larger part."""
    base, parts = exploration.design.base.hash, exploration.ladder.shares if exploration.ladder else ()
    by_part = [
        [LIMITS[limit].of(record.cost) or 0.0 for key, record in exploration.records(share).items() if key != base]
        for share in parts
    ]
    first, *larger = by_part or [[]]
    usual = math.fsum(share / parts[0] / RATIO**index for index, share in enumerate(parts) if index)
    if not first:
        return (1 + usual) * (exploration.progress.budget.guess(limit, exploration.first.hash) or 0.0)
    further = math.fsum(itertools.chain(*larger)) / len(first)
    return fmean(first) + (further if any(larger) else usual * fmean(first))


def _seconds(budget: Budget, recipes: Iterable[str]) -> dict[str, float]:
    """Return the guessed seconds of a trial of each recipe, by hash; recipes without a guess are left out."""
    minutes = {each: budget.guess("minutes", each) for each in dict.fromkeys(recipes)}
    return {each: 60 * taken for each, taken in minutes.items() if taken}


def finals_to_come(agenda: Agenda, fits: Fits) -> list[list[str]]:
    """Return the rounds of the finals that have not begun, as recipe hashes. Before the finalists are chosen: with
    those that would be chosen now from recipes that `fits` accepts. An unknown finalist counts as the base settings."""
    finals, design, exploration = agenda.rounds, agenda.design, agenda.exploration
    if finals.size is None:
        return []
    size, finalists, unknown = finals.size, finals.finalists, 0
    if finalists is None:
        size, finalists = finals.choice(exploration.recipes, exploration.by_parts(), fits)
        unknown = size.recipes - len(finalists)
    groups = rounds([*finalists, *size.references])
    ahead = [[trial.recipe_hash for trial in group if agenda.progress.is_open(trial)] for group in groups]
    if unknown:
        usual = size if finalists else design.finals or size
        ahead += [[design.base.hash] for _ in range(usual.seeds - len(ahead))]
        ahead = [[*[design.base.hash] * unknown, *group] for group in ahead]
    return [group for group in ahead if group]
