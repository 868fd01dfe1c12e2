"""How long the rest of a study takes, where trials run side by side and are not equally long.

Three things are known: what ended trials cost, how far those that run are by their steps, and how many seconds of a
place a second of a trial has cost so far: more than one where places stood empty between trials, less where a trial is
scored while the next one trains in its place. From them the rest is laid out on the places as a study would do it.
"""

from __future__ import annotations

import dataclasses
import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from reports.ledger import Record
from reports.words.markdown import count
from study.search.budget import lay_out, makespan
from study.search.outlook import Outlook
from study.trial import cost_key

TRAINING_SHARE = 0.5
"""How much of a trial is its training, as long as no record tells."""
KNOWN_LATER = "known once a trial has made some steps"


@dataclass(frozen=True)
class Forecast:
    """How long the rest takes. What is not known yet is None."""

    seconds: float | None = None
    a_minute: float | None = None
    """How many trials end in a minute while every place is busy."""
    how: str = KNOWN_LATER
    """How that is known, or why it is not."""
    ends: Mapping[str, float] = field(default_factory=dict)
    """Seconds until each stage (`reports.ledger.STAGES`) ends, if what runs is of the first."""

    def after(self, seconds: float) -> Forecast:
        """The same so much later."""
        if self.seconds is None:
            return self
        ends = {stage: max(0.0, end - seconds) for stage, end in self.ends.items()}
        return dataclasses.replace(self, seconds=max(0.0, self.seconds - seconds), ends=ends)


@dataclass
class TrainingGroup:
    """Trials that train together, or one that trains alone. Times are those of a monotonic clock."""

    began: float
    members: int
    """How many there were when it began."""
    booked: float = 0.0
    """Seconds of those that ended."""
    first: tuple[float, int] | None = None
    """When the first step was told that was told, and its number: more than 1 where a training went on."""
    last: tuple[float, int] | None = None
    steps: int = 0
    """How many the training has; 0 as long as no step was told."""
    scored: float = 0.0
    """When the last one ended."""

    def stepped(self, now: float, step: int, steps: int) -> None:
        """A step was told."""
        self.first = self.first or (now, step)
        self.last, self.steps = (now, step), steps

    @property
    def paced(self) -> bool:
        """Whether more than one step tells its pace: until the first one a training also begins."""
        return self.first is not None and self.last is not None and self.first[1] < self.last[1]

    def training_left(self, now: float) -> float | None:
        """Seconds, by the pace of its steps; None as long as none was told."""
        if self.last is None:
            return None
        at, step = self.last
        return max(0.0, self._pace() * (self.steps - step) - (now - at))

    def training(self) -> float:
        """Seconds of the whole training, a step of which was told."""
        assert self.last is not None
        at, step = self.last
        return at - self.began + self._pace() * (self.steps - step)

    def _pace(self) -> float:
        """Seconds a step."""
        assert self.first is not None
        assert self.last is not None
        (begin, before), (at, step) = self.first, self.last
        return (at - begin) / (step - before) if step > before else (at - self.began) / max(1, step)


class TimeLeft:
    """Learns from what it is told of trials how long the rest takes."""

    def __init__(self, records: Iterable[Record], at_once: int) -> None:
        """`records` are those of earlier runs."""
        self.at_once = at_once
        self.peak = 0
        """How many ran at once: worker groups start one by one, and there may be room for fewer than hoped."""
        self.ended = 0
        self._earlier = [record for record in records if _cost(record, "seconds")]
        self._seconds: dict[str, list[float]] = {}  # of trials that ended, by recipe
        self._evaluations: list[float] = []
        self._work = 0.0  # seconds of trials that ended in this run
        self._held = 0.0  # seconds of places that were busy, or could have been
        self._at: float | None = None

    def know_hardware(self, hardware: str) -> None:
        """What this run has. Of earlier records those count that were measured on the same."""
        for record in self._earlier:
            if record.hardware == hardware:
                self._learn(record, _cost(record, "seconds"))
        self._earlier = []

    def pass_time(self, now: float, groups: int, queued: int) -> None:
        """So many ran, and so many waited, since it was told the last time."""
        self.peak = max(self.peak, min(groups, self.at_once))
        if self._at is not None:
            self._held += (now - self._at) * min(self.peak, groups + queued)
        self._at = now

    def finished(self, record: Record, group: TrainingGroup | None, now: float) -> None:
        """A trial of the group has a record."""
        wall = now - group.began if group else 0.0
        cost = _cost(record, "seconds") or wall / (group.members if group else 1)
        seconds = min(cost, wall) if group else cost  # of a resumed trial some seconds were spent in an earlier run
        self._learn(record, seconds)
        self._book(seconds, group, now)

    def failed(self, group: TrainingGroup, now: float) -> None:
        """A trial of the group ended without a record."""
        self._book(max(0.0, now - group.began - group.booked) / group.members, group, now)

    def forecast(self, now: float, running: Sequence[tuple[TrainingGroup, str]], ahead: Outlook) -> Forecast:
        """From the groups and cost keys of the trials that run, and what is ahead of the study."""
        groups: dict[int, tuple[TrainingGroup, list[str]]] = {}
        for group, recipe in running:
            groups.setdefault(id(group), (group, []))[1].append(recipe)
        wholes = {recipe: [*values] for recipe, values in self._seconds.items()}
        ended = sum(map(len, wholes.values()))
        under_way = [(recipe, self._whole(group)) for group, recipe in running if self._tells(group, recipe)]
        for recipe, seconds in under_way:
            wholes.setdefault(recipe, []).append(seconds)
        if not wholes:
            return Forecast()
        usual = {recipe: fmean(values) for recipe, values in wholes.items()}
        mean = fmean(usual.values())
        usual = {**ahead.seconds, **usual}
        work = self._work + math.fsum(max(0.0, now - group.began - group.booked) for group, _ in groups.values())
        factor = self._held / work if work and self._held else 1.0
        elsewhere = max(0.0, 1 - factor) * mean  # so long a trial is scored when the next one has its place
        places = max(1, self.peak if self.ended >= self.at_once else self.at_once)
        lengths = [(self._left(group, recipes, now, usual, mean), recipes) for group, recipes in groups.values()]
        left = sorted((seconds for seconds, _ in lengths), reverse=True)
        free = [max(0.0, seconds - elsewhere, ahead.explores) for seconds in [*left, *[0.0] * places][:places]]
        heapq.heapify(free)

        def cost(recipe: str | None) -> float:
            return factor * (usual.get(recipe, mean) if recipe else mean)

        trials = [] if ahead.explores else [*map(cost, ahead.trials)]  # exploring, every place has work for so long
        search = lay_out(trials, free, end=max(free))
        awaited = [seconds for seconds, recipes in lengths if not set(recipes).isdisjoint(ahead.awaited)]
        begin = max([ahead.explores, search if trials else 0.0, *awaited])
        if ahead.after_wait:
            ahead = ahead.after_wait(begin)
            usual = {**ahead.seconds, **usual}
        finals = search
        for seeds in ahead.rounds:  # by then the limit knows what now the steps tell
            at, guesses = max(begin, free[0]), [usual.get(recipe, 0.0) for recipe in seeds]
            if makespan(guesses, places, [max(0.0, until - at) for until in free]) > ahead.left - at:
                break  # a later seed of some would be of no use
            finals = lay_out([*map(cost, seeds)], free, begin, finals)
        end = lay_out([*map(cost, ahead.after)], free, finals, finals)
        seconds = min(max([end + elsewhere if end else 0.0, *left]), ahead.left)
        if seconds == math.inf:
            return Forecast()
        ends = {stage: min(until, seconds) for stage, until in (("search", search), ("finals", finals))}
        ends["further" if ahead.after else "finals"] = seconds
        how = self._how(len(under_way), ended)
        return Forecast(max(0.0, seconds), 60 * places / max(factor * mean, 1e-3), how, ends)

    def _learn(self, record: Record, seconds: float) -> None:
        self._seconds.setdefault(cost_key(record.recipe_hash, record.seed), []).append(seconds)
        if record.status == "finished" and _cost(record, "evaluation_seconds"):
            self._evaluations.append(_cost(record, "evaluation_seconds"))

    def _book(self, seconds: float, group: TrainingGroup | None, now: float) -> None:
        self.ended += 1
        self._work += seconds
        if group is not None:
            group.booked += seconds
            group.scored = now

    def _tells(self, group: TrainingGroup, recipe: str) -> bool:
        """Whether its steps tell more than the trials of that recipe that ended."""
        return group.last is not None and (group.paced or recipe not in self._seconds)

    def _evaluation(self, group: TrainingGroup) -> float:
        """Seconds of one trial."""
        if self._evaluations:
            return fmean(self._evaluations)
        return group.training() / group.members * (1 - TRAINING_SHARE) / TRAINING_SHARE

    def _whole(self, group: TrainingGroup) -> float:
        """Seconds of one trial of the group, from its begin to its end."""
        return group.training() / group.members + self._evaluation(group)

    def _left(
        self, group: TrainingGroup, recipes: Sequence[str], now: float, usual: Mapping[str, float], mean: float
    ) -> float:
        """Seconds that its trials still need that have not ended."""
        training = group.training_left(now)
        if training is None or group.last is None or not any(self._tells(group, recipe) for recipe in recipes):
            return max(0.0, math.fsum(usual.get(recipe, mean) for recipe in recipes) - (now - group.began))
        scoring = now - max(group.last[0], group.scored) if group.last[1] >= group.steps else 0.0
        return training + max(0.0, self._evaluation(group) * len(recipes) - scoring)

    def _how(self, under_way: int, ended: int) -> str:
        parts = [f"from {count(ended, 'trial')} that ended"] if ended else []
        runs = f"the steps of {count(under_way, 'trial')} that {'runs' if under_way == 1 else 'run'}"
        parts += [f"{'' if ended else 'from '}{runs}"] if under_way else []
        guess = "" if ended else "; until one ended, scoring is taken to last as long as training"
        return " and ".join(parts) + guess


def _cost(record: Record, name: str) -> float:
    """0 where it was not measured."""
    value = record.cost.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
