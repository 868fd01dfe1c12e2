"""Forecast of how long the rest of a study takes, with parallel trials of different lengths.

The forecast uses the cost of ended trials, the step of each running trial, and a factor. A place is the room for one
worker group, and the factor is the seconds of a place per second of a trial. It is above 1 if places were empty between
trials, and below 1 if a trial is scored while the next one trains in its place. The remaining trials are assigned to
places as a study would do it.
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
from study.search.step_pace import StepPace
from study.trial import cost_key

TRAINING_SHARE = 0.5
"""Share of training in a trial's time, assumed until a record shows it."""
KNOWN_LATER = "known once a trial has made some steps"


@dataclass(frozen=True)
class Forecast:
    """A forecast of how long the rest of a study takes. Unknown numbers are None."""

    seconds: float | None = None
    a_minute: float | None = None
    """Trials that end in a minute if every place is busy."""
    how: str = KNOWN_LATER
    """The source of the estimate, or why there is none."""
    ends: Mapping[str, float] = field(default_factory=dict)
    """Seconds until the end of each stage (`reports.ledger.STAGES`), if the running trials are of the first stage."""

    def after(self, seconds: float) -> Forecast:
        """Return the forecast as it is `seconds` later."""
        if self.seconds is None:
            return self
        ends = {stage: max(0.0, end - seconds) for stage, end in self.ends.items()}
        return dataclasses.replace(self, seconds=max(0.0, self.seconds - seconds), ends=ends)


@dataclass
class TrainingGroup:
    """Trials that train together, or one that trains alone. Times are of a monotonic clock."""

    began: float
    members: int
    """Number of the group's trials at the start."""
    booked: float = 0.0
    """Seconds already counted for trials of the group that ended."""
    pace: StepPace = field(default_factory=StepPace)
    scored: float = 0.0
    """Time at which a trial of the group last ended; 0 if none has."""

    def training_left(self, now: float) -> float | None:
        """Return the remaining seconds of training by the pace of its steps; None until a step is reported."""
        if self.pace.last is None:
            return None
        at, step = self.pace.last
        return max(0.0, self._a_step() * (self.pace.steps - step) - (now - at))

    def training(self) -> float:
        """Return the estimated seconds of the whole training. A step must have been reported."""
        assert self.pace.last is not None
        at, step = self.pace.last
        return at - self.began + self._a_step() * (self.pace.steps - step)

    def _a_step(self) -> float:
        """Return the seconds per training step; with one reported step, the start of the training included."""
        assert self.pace.last is not None
        at, step = self.pace.last
        each = self.pace.a_step
        return (at - self.began) / max(1, step) if each is None else each


class TimeLeft:
    """Estimates the rest of a study from its trials so far."""

    def __init__(self, records: Iterable[Record], at_once: int) -> None:
        """`records`: records of earlier runs of the study. `at_once`: how many groups may run at the same time."""
        self.at_once = at_once
        self.peak = 0
        """The most groups that ran at once. Worker groups start one by one, and perhaps not all `at_once` have room."""
        self.ended = 0
        self._earlier = [record for record in records if _cost(record, "seconds")]
        self._seconds: dict[str, list[float]] = {}  # of trials that ended, by recipe
        self._evaluations: list[float] = []
        self._work = 0.0  # seconds of trials that ended in this run
        self._held = 0.0  # seconds of places that were busy, or had a waiting trial
        self._at: float | None = None

    def know_hardware(self, hardware: str) -> None:
        """Set the hardware of this run. Earlier records count only if they were measured on the same hardware."""
        for record in self._earlier:
            if record.hardware == hardware:
                self._learn(record, _cost(record, "seconds"))
        self._earlier = []

    def pass_time(self, now: float, groups: int, queued: int) -> None:
        """Add the time since the last call, in which `groups` groups ran and `queued` trials waited."""
        self.peak = max(self.peak, min(groups, self.at_once))
        if self._at is not None:
            self._held += (now - self._at) * min(self.peak, groups + queued)
        self._at = now

    def finished(self, record: Record, group: TrainingGroup | None, now: float) -> None:
        """Add a trial of the group that has a record."""
        wall = now - group.began if group else 0.0
        cost = _cost(record, "seconds") or wall / (group.members if group else 1)
        seconds = min(cost, wall) if group else cost  # of a resumed trial some seconds were spent in an earlier run
        self._learn(record, seconds)
        self._book(seconds, group, now)

    def failed(self, group: TrainingGroup, now: float) -> None:
        """Add a trial of the group that ended without a record."""
        self._book(max(0.0, now - group.began - group.booked) / group.members, group, now)

    def forecast(self, now: float, running: Sequence[tuple[TrainingGroup, str]], ahead: Outlook) -> Forecast:
        """Return the forecast. `running`: group and cost key of each running trial. `ahead`: the trials to come."""
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
        elsewhere = max(0.0, 1 - factor) * mean  # how long a trial is scored while the next one has its place
        places = max(1, self.peak if self.ended >= self.at_once else self.at_once)
        lengths = [(self._left(group, recipes, now, usual, mean), recipes) for group, recipes in groups.values()]
        left = sorted((seconds for seconds, _ in lengths), reverse=True)
        free = [max(0.0, seconds - elsewhere, ahead.exploring_seconds) for seconds in [*left, *[0.0] * places][:places]]
        heapq.heapify(free)

        def cost(recipe: str | None) -> float:
            return factor * (usual.get(recipe, mean) if recipe else mean)

        trials = [] if ahead.exploring_seconds else [*map(cost, ahead.trials)]  # while exploring, every place has work
        search = lay_out(trials, free, end=max(free))
        awaited = [seconds for seconds, recipes in lengths if not set(recipes).isdisjoint(ahead.awaited)]
        begin = max([ahead.exploring_seconds, search if trials else 0.0, *awaited])
        if ahead.after_wait:
            ahead = ahead.after_wait(begin)
            usual = {**ahead.seconds, **usual}
        finals = search
        for seeds in ahead.rounds:  # by then the limit knows costs that are only estimated now
            at, guesses = max(begin, free[0]), [usual.get(recipe, 0.0) for recipe in seeds]
            if makespan(guesses, places, [max(0.0, until - at) for until in free]) > ahead.seconds_left - at:
                break  # a later seed of some recipes would be useless
            finals = lay_out([*map(cost, seeds)], free, begin, finals)
        end = lay_out([*map(cost, ahead.after)], free, finals, finals)
        seconds = min(max([end + elsewhere if end else 0.0, *left]), ahead.seconds_left)
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
        """Return whether the group's steps give a better estimate than ended trials of that recipe."""
        return group.pace.last is not None and (group.pace.a_step is not None or recipe not in self._seconds)

    def _evaluation(self, group: TrainingGroup) -> float:
        """Return the estimated seconds to evaluate one trial."""
        if self._evaluations:
            return fmean(self._evaluations)
        return group.training() / group.members * (1 - TRAINING_SHARE) / TRAINING_SHARE

    def _whole(self, group: TrainingGroup) -> float:
        """Return the estimated seconds of one trial of the group, from start to end."""
        return group.training() / group.members + self._evaluation(group)

    def _left(
        self, group: TrainingGroup, recipes: Sequence[str], now: float, usual: Mapping[str, float], mean: float
    ) -> float:
        """Return the estimated seconds that the group's open trials still need."""
        training = group.training_left(now)
        if training is None or group.pace.last is None or not any(self._tells(group, recipe) for recipe in recipes):
            return max(0.0, math.fsum(usual.get(recipe, mean) for recipe in recipes) - (now - group.began))
        at, step = group.pace.last
        scoring = now - max(at, group.scored) if step >= group.pace.steps else 0.0
        return training + max(0.0, self._evaluation(group) * len(recipes) - scoring)

    def _how(self, under_way: int, ended: int) -> str:
        parts = [f"from {count(ended, 'trial')} that ended"] if ended else []
        runs = f"the steps of {count(under_way, 'trial')} that {'runs' if under_way == 1 else 'run'}"
        parts += [f"{'' if ended else 'from '}{runs}"] if under_way else []
        guess = "" if ended else "; until one ended, scoring is taken to last as long as training"
        return " and ".join(parts) + guess


def _cost(record: Record, name: str) -> float:
    """Return the number of that name in the record's cost; 0 if it was not measured."""
    value = record.cost.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
