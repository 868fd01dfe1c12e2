"""What a study will still run, as far as its agenda and its limits tell: what a forecast lays out on its places."""

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
from study.search.ladder import LOOKS, RATIO


@dataclass(frozen=True)
class Outlook:
    """Trials by the hashes of their recipes; None for a recipe that is yet to be chosen."""

    trials: Sequence[str | None] = ()
    """Before the finals: rows, recipes of the search, further seeds."""
    rounds: Sequence[Sequence[str]] = ()
    """Of the finals, seed by seed: whole ones, as far as a limit in minutes leaves room. They begin when the trials
    before them have ended."""
    awaited: Collection[str] = ()
    """What running trials train that must have ended, too, as they may decide who is in the finals."""
    after: Sequence[str] = ()
    """Soups, each as dear as to score the untrained encoder, and a learning curve, in which parts of the data count as
    much of a training as they are."""
    explores: float = 0.0
    """For so many seconds recipes are explored, where a limit in minutes bounds that; infinite while nobody knows."""
    left: float = math.inf
    """Seconds until that limit."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """What a trial of a recipe takes, where a limit in minutes tells it by the parts of the data that it trained on."""
    after_wait: Callable[[float], Outlook] | None = None
    """The outlook if those that are `awaited` end in so many seconds: who is in the finals depends on it. None where
    nothing is awaited, or more is explored."""

    @property
    def begins(self) -> int:
        """How many trials are known to begin."""
        return len(self.trials) + sum(map(len, self.rounds)) + len(self.after)


def outlook(agenda: Agenda, wait: float = 0.0) -> Outlook:
    """As things stand. `wait`: seconds until what decides on the finals has ended."""
    exploration, finals, budget = agenda.exploration, agenda.rounds, agenda.budget
    left, chooses = budget.seconds_left(), finals.finalists is None
    passed = {*agenda.progress.left_out, *(trial.key for trial in exploration.queue if not chooses)}
    waiting = [trial for trial in agenda.waiting() if trial.key not in passed]
    before: list[str | None] = [trial.recipe_hash for trial in waiting if not is_fresh(trial.seed)]
    explores, room, fits = 0.0, exploration.unasked * len(agenda.course.seeds), agenda.progress.fits
    if exploration.opens_more and budget.limits:
        explores, room, within = _exploring(exploration, budget, len(before))
        fits = functools.partial(agenda.progress.will_fit, within)
    elif wait and left < math.inf:
        fits = functools.partial(agenda.progress.will_fit, 1 - wait / (60 * budget.limits["minutes"]))
    further, base = finals_to_come(agenda, fits), agenda.course.base.hash
    after: list[str] = []
    if finals.size:
        soups = sum(bool(trial.averaged) for trial in waiting)
        if agenda.soups is not None and (chooses or finals.open):  # they are asked for once these have ended
            soups = finals.size.of_soup
        after = [finals.size.untrained.hash] * soups + [base] * finals.size.curve_trainings * (agenda.parts is None)
    awaited = {trial.recipe_hash for trial in agenda.awaited}
    running = [trial.recipe_hash for trial in agenda.progress.running.values()]
    if exploration.opens_more and not explores:
        before += [exploration.first.hash if budget.limits else None] * room
    seconds = _seconds(budget, [*running, *filter(None, before), *itertools.chain(*further)]) if left < math.inf else {}
    after_wait = functools.partial(outlook, agenda) if awaited and not explores else None
    return Outlook(before, further, awaited, after, explores, left, seconds, after_wait)


def _exploring(exploration: Exploration, budget: Budget, waiting: int) -> tuple[float, int, float]:
    """For how many seconds recipes are explored where a limit in minutes bounds that, how many are asked for at most,
    and the share of the limits within which the finals come then."""
    unasked = exploration.unasked * len(exploration.course.seeds)
    if exploration.finals.rooms is None:  # no training has ended
        return math.inf, unasked, 1.0
    parts = exploration.ladder.parts if exploration.ladder else ()
    room, explores, each = unasked, 0.0, {name: _recipe_takes(exploration, name) for name in budget.limits}
    stages = exploration.room_kept
    for name, limit in budget.limits.items():
        costs = [[budget.guess(name, later) or 0.0 for later in stage] for stage in stages]
        rest, looks = limit - budget.spent(name), LOOKS * limit - budget.spent(name) if parts else 0.0
        if LIMITS[name].clock:
            explores = 60 * max(0.0, looks, rest - SLACK * makespan((), budget.places, (), costs))
        elif each[name]:
            amount = max(0.0, looks, rest - math.fsum(itertools.chain(*costs)))
            room = min(room, int(amount / each[name]))
    used = []
    for name, limit in budget.limits.items():
        if LIMITS[name].clock and each[name]:  # what is left to ask for may end it sooner
            last = 60 * each[name] * (waiting + room) / budget.places
            explores = min(explores, last)
        used.append((explores / 60 if LIMITS[name].clock else room * each[name]) / limit)
    return explores, room, 1.0 - min(used)


def _recipe_takes(exploration: Exploration, limit: str) -> float:
    """What exploring a recipe takes of a limit in the mean, on the smallest part and on larger ones: as those so far,
    which may take longer than the base settings; until some have ended as if a third went on."""
    base, parts = exploration.course.base.hash, exploration.ladder.parts if exploration.ladder else ()
    by_part = [
        [LIMITS[limit].of(record.cost) or 0.0 for key, record in exploration.records(share).items() if key != base]
        for share in parts
    ]
    first, *larger = by_part or [[]]
    usual = math.fsum(share / parts[0] / RATIO**place for place, share in enumerate(parts) if place)
    if not first:
        return (1 + usual) * (exploration.progress.budget.guess(limit, exploration.first.hash) or 0.0)
    further = math.fsum(itertools.chain(*larger)) / len(first)
    return fmean(first) + (further if any(larger) else usual * fmean(first))


def _seconds(budget: Budget, recipes: Iterable[str]) -> dict[str, float]:
    """Seconds of a trial of each of these recipes, those that can be told."""
    minutes = {each: budget.guess("minutes", each) for each in dict.fromkeys(recipes)}
    return {each: 60 * taken for each, taken in minutes.items() if taken}


def finals_to_come(agenda: Agenda, fits: Fits) -> list[list[str]]:
    """The rounds of the finals that have not begun: while no finalist is chosen, with those that would be chosen now
    of what `fits` then. A finalist nobody knows takes as long as the base settings."""
    finals, course, exploration = agenda.rounds, agenda.course, agenda.exploration
    if finals.size is None:
        return []
    size, finalists, unknown = finals.size, finals.finalists, 0
    if finalists is None:
        size, finalists = finals.choice(exploration.recipes, exploration.by_parts(), fits)
        unknown = size.recipes - len(finalists)
    groups = rounds([*finalists, *size.beside])
    ahead = [[trial.recipe_hash for trial in group if agenda.progress.is_open(trial)] for group in groups]
    if unknown:
        usual = size if finalists else course.finals or size
        ahead += [[course.base.hash] for _ in range(usual.seeds - len(ahead))]
        ahead = [[*[course.base.hash] * unknown, *group] for group in ahead]
    return [group for group in ahead if group]
