"""What a study will still run, as far as its agenda and its limits tell: what a forecast lays out on its places."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reports.ledger import is_fresh
from search_spaces.limits import LIMITS
from study.search.agenda import Agenda
from study.search.budget import SLACK, Budget, makespan
from study.search.finals import rounds
from study.search.ladder import LOOKS, RATIO, Ladder


@dataclass(frozen=True)
class Outlook:
    """Trials by the hashes of their recipes; None for a recipe that is yet to be chosen."""

    trials: Sequence[str | None] = ()
    """Before the finals: rows, recipes of the search, further seeds."""
    rounds: Sequence[Sequence[str]] = ()
    """Of the finals, seed by seed: whole ones, as far as a limit in minutes leaves room."""
    waits: bool = False
    """Whether these begin only when all that runs and is ahead of them has ended."""
    after: Sequence[str] = ()
    """Soups, each as dear as to score the untrained encoder, and a learning curve, in which parts of the data count as
    much of a training as they are."""
    explores: float = 0.0
    """For so many seconds recipes are explored, where a limit in minutes bounds that; infinite while nobody knows."""
    left: float = math.inf
    """Seconds until that limit."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """What a trial of a recipe takes, where a limit in minutes tells it by the parts of the data that it trained on."""

    @property
    def begins(self) -> int:
        """How many trials are known to begin."""
        return len(self.trials) + sum(map(len, self.rounds)) + len(self.after)


def outlook(agenda: Agenda) -> Outlook:
    """As things stand."""
    exploration, finals, budget = agenda.exploration, agenda.rounds, agenda.budget
    left, chooses = budget.seconds_left(), finals.finalists is None
    passed = {*agenda.progress.left_out, *(trial.key for trial in exploration.queue if not chooses)}
    waiting = [trial for trial in agenda.waiting() if trial.key not in passed]
    before: list[str | None] = [trial.recipe_hash for trial in waiting if not is_fresh(trial.seed)]
    further, base = finals_to_come(agenda), agenda.course.base.hash
    after: list[str] = []
    if finals.size:
        soups = sum(bool(trial.averaged) for trial in waiting)
        if agenda.soups is not None and (chooses or finals.open):  # they are asked for once these have ended
            soups = finals.size.of_soup
        after = [finals.size.untrained.hash] * soups + [base] * finals.size.curve_trainings * (agenda.parts is None)
    running = [trial.recipe_hash for trial in agenda.progress.running.values()]
    seconds = (
        _by_parts(budget, [*running, exploration.first.hash, *filter(None, before), *itertools.chain(*further)])
        if left < math.inf
        else {}
    )
    if not exploration.opens_more:
        return Outlook(before, further, chooses, after, left=left, seconds=seconds)
    stages = [[each for group in further for each in group], after]
    unasked = exploration.unasked * len(agenda.course.seeds)
    if not budget.limits:
        return Outlook([*before, *[None] * unasked], further, chooses, after)
    if finals.rooms is None:  # no training has ended
        return Outlook(before, further, chooses, after, explores=math.inf, left=left)
    explores, rooms = 0.0, [math.inf]
    for name in budget.limits:
        costs = [[budget.guess(name, each) or 0.0 for each in stage] for stage in stages]
        rest, parts = budget.limits[name] - budget.spent(name), bool(exploration.ladder and exploration.ladder.parts)
        looks = LOOKS * budget.limits[name] - budget.spent(name) if parts else 0.0
        if LIMITS[name].clock:
            explores = 60 * max(looks, rest - SLACK * makespan((), budget.places, (), costs))
        else:
            amount = max(looks, rest - math.fsum(itertools.chain(*costs)))
            rooms.append(max(0.0, amount) / (budget.guess(name, exploration.first.hash) or math.inf))
    room = int(min(*rooms, unasked))
    if (each := seconds.get(exploration.first.hash)) is not None:  # what is left to ask for may end it sooner
        explores = min(explores, each * _looks(exploration.ladder) * (len(before) + room) / budget.places)
    trials = before if explores else [*before, *[exploration.first.hash] * room]
    return Outlook(trials, further, chooses, after, max(0.0, explores), left, seconds)


def _looks(ladder: Ladder | None) -> float:
    """What exploring a recipe takes in the mean, in trainings on the smallest part: some go on to larger ones."""
    parts = ladder.parts if ladder else ()
    return math.fsum(share / parts[0] / RATIO**place for place, share in enumerate(parts)) or 1.0


def _by_parts(budget: Budget, recipes: Iterable[str]) -> dict[str, float]:
    """Seconds of a trial of each of these recipes, those that can be told."""
    minutes = {each: budget.guess("minutes", each) for each in dict.fromkeys(recipes)}
    return {each: 60 * taken for each, taken in minutes.items() if taken}


def finals_to_come(agenda: Agenda) -> list[list[str]]:
    """The rounds of the finals that have not begun: while no finalist is chosen, with the best recipe so far, under as
    many seeds as were asked for."""
    finals, course = agenda.rounds, agenda.course
    if finals.size is None:
        return []
    groups = rounds([*(finals.finalists or ()), *finals.size.beside])
    ahead = [[trial.recipe_hash for trial in group if agenda.progress.is_open(trial)] for group in groups]
    if finals.finalists is None:
        best = likely_finalist(agenda)
        seeds = course.finals.seeds if course.finals and agenda.budget.limits else finals.size.seeds
        ahead += [[course.base.hash] for _ in range(seeds - len(ahead))]
        ahead = [[*[best] * finals.size.recipes, *group] for group in ahead]
    return [group for group in ahead if group]


def likely_finalist(agenda: Agenda) -> str:
    """The best recipe so far, which tells how long a final trial may take; the base settings before there is one."""
    scores = next((scores for scores in agenda.exploration.by_parts() if len(scores) > 1), {})
    best = max(scores, key=lambda key: scores[key]) if scores else agenda.progress.best(agenda.exploration.recipes)
    return best or agenda.course.base.hash
