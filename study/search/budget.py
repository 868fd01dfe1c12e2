"""What is left of a study's limits on all of its trials together, such as `--limit gpu_hours=20`."""

from __future__ import annotations

import datetime
import heapq
import itertools
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any, NamedTuple

from reports.ledger import Record, Work, is_soup, seconds_trained
from reports.ledger.study_info import Limited
from search_spaces.limits import LIMITS, of_study
from study.trial import SOUP, cost_key
from trainables.errors import UserError
from trainables.recipe import Recipe

Running = tuple[str, float]
"""A running trial: the hash of its recipe, and the minutes since it began."""

SLACK = 1.05
"""Plans leave room for trials that take this many times their guessed time; a limit in minutes cuts off longer ones."""
GRACE_SECONDS, OF_GRACE = 30.0, 1 / 30
"""After a limit in minutes, a study waits for scores without which it has no answer: `GRACE_SECONDS`, or the share
`OF_GRACE` of the limit if that is longer."""


class _Training(NamedTuple):
    epochs: float
    rest: float
    """Cost of the trial without that of its training steps."""
    work: Work


class Budget:
    """Sums the costs of trials, also of earlier runs. Trials that failed left no record, and do not count.

    The cost of a trial is guessed from trials that ended: from other seeds of its recipe; if there are none, from the
    pace of one that runs (`pace`); else from finished trainings, in proportion to epochs and share of the data. These
    are trainings of its recipe on parts of the data, or all trainings if there are none; of either only those nearest
    in length, as the start weighs more in short ones. Trainings of the same work count as equally long (their median).
    """

    def __init__(
        self,
        limits: Mapping[str, float],
        records: Iterable[Record] = (),
        places: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`limits` may contain limits of single trials, which are ignored. `records`: records of earlier runs.
        `places`: how many trials run at once. `clock` returns seconds; the time of this run counts from now."""
        self.limits = of_study(limits)
        self.places, self._clock, self._begun = places, clock, clock()
        self._costs: dict[str, dict[str, list[float]]] = {name: {} for name in self.limits}  # by limit and recipe
        self._parts: dict[str, dict[str, list[_Training]]] = {name: {} for name in self.limits}
        """Trainings by limit, then by a key of the recipe on all of its data (`_whole`)."""
        self._of_work: dict[tuple[str, Work], list[float]] = {}  # costs of trainings by limit and work
        self._paces: dict[str, float] = {}  # minutes of a running trial, guessed from its pace, by recipe
        self._epochs: dict[str, float] = {}  # by recipe
        self._wholes: dict[str, str] = {}  # by recipe, the same recipe on all of its data
        self._guessed: dict[tuple[str, str], float | None] = {}  # by limit and recipe, until more is known
        records = [*records] if self.limits else []
        self._earlier = busy_seconds(records)
        for record in records:
            self.add(record)

    def begin(self) -> float:
        """Restart the clock. Return the seconds since its last start."""
        waited = self._clock() - self._begun
        self._begun += waited
        return waited

    def add(self, record: Record) -> None:
        """Add the cost of a trial that has ended."""
        self._guessed.clear()
        for name, costs in self._costs.items():
            value = LIMITS[name].of(record.cost)
            if value is not None:
                costs.setdefault(cost_key(record.recipe_hash, record.seed), []).append(value)
                epochs, cost = _epochs(record.recipe), record.cost
                # Preparing a training, such as reading its data, takes no longer for more epochs or data.
                seconds, whole = seconds_trained(record), cost.get("seconds")
                if record.status == "finished" and epochs and seconds and whole and not is_soup(record.seed):
                    training, work = value * seconds / whole, record.work
                    parts = self._parts[name].setdefault(_whole(record.recipe), [])
                    parts.append(_Training(epochs, value - training, work))
                    self._of_work.setdefault((name, work), []).append(training)

    def expect(self, recipes: Iterable[Recipe]) -> None:
        """Store the epochs of recipes whose trials run or come next, so that their costs can be guessed."""
        for recipe in recipes:
            if recipe.hash not in self._wholes and (epochs := _epochs(recipe.flat())) is not None:
                self._epochs[recipe.hash], self._wholes[recipe.hash] = epochs, _whole(recipe.flat())
                self._guessed.clear()

    def pace(self, recipe: Recipe, minutes: float) -> None:
        """Store the length of a trial, guessed from the pace of one that runs, for a limit in minutes; of no use once
        one has ended. If it is longer than was guessed before, so are guesses for other recipes."""
        if recipe.hash not in self._costs["minutes"]:
            self.expect([recipe])
            self._guessed.clear()
            self._paces[recipe.hash] = minutes

    def spent(self, name: str) -> float:
        """Return how much of the limit `name` is spent: the cost of all ended trials. For a limit in minutes: the time
        since the clock started, and the time in which trials of earlier runs ran."""
        if LIMITS[name].clock:
            return (self._earlier + self._clock() - self._begun) / 60
        return math.fsum(value for values in self._costs[name].values() for value in values)

    def left(self, name: str) -> float:
        """Return how much of the limit `name` is left for trials; for a limit in minutes, the sum over all places."""
        return (self.limits[name] - self.spent(name)) * (self.places if LIMITS[name].clock else 1)

    def seconds_left(self) -> float:
        """Return the seconds until the limit in minutes; infinite if the study has no such limit."""
        clocks = [name for name in self.limits if LIMITS[name].clock]
        return min((60 * (self.limits[name] - self.spent(name)) for name in clocks), default=math.inf)

    @property
    def grace(self) -> float:
        """Seconds that a study may wait, after its limit in minutes, for scores without which it has no answer."""
        clocks = [60 * number for name, number in self.limits.items() if LIMITS[name].clock]
        return max(GRACE_SECONDS, OF_GRACE * min(clocks)) if clocks else 0.0

    def guess(self, name: str, recipe_hash: str | None = None) -> float | None:
        """Return the guessed cost of a trial of that recipe, in the unit of the limit `name`; None if no trial has
        ended. `recipe_hash`: None for a recipe that is not chosen yet."""
        if (own := self._by_own(name, recipe_hash or "")) is not None:
            return own
        every = [value for key, values in self._costs[name].items() if key != SOUP for value in values]
        return fmean(every) if every else None

    def _by_own(self, name: str, recipe_hash: str) -> float | None:
        """Return the cost guessed from trials of that recipe, also from running ones, else from its epochs; None if
        neither is possible."""
        if (name, recipe_hash) not in self._guessed:
            self._guessed[name, recipe_hash] = self._reckoned(name, recipe_hash)
        return self._guessed[name, recipe_hash]

    def _reckoned(self, name: str, recipe_hash: str) -> float | None:
        if values := self._costs[name].get(recipe_hash):
            return fmean(values)
        paces = self._paces if LIMITS[name].clock else {}
        if recipe_hash in paces:
            return paces[recipe_hash]
        longer = [minutes / before for each, minutes in paces.items() if (before := self._by_others(name, each))]
        guess = self._by_others(name, recipe_hash)
        return None if guess is None else guess * max([1.0, *longer])

    def _by_others(self, name: str, recipe_hash: str) -> float | None:
        """Return the cost guessed from trainings on other shares of the data, or of other recipes."""
        epochs, parts = self._epochs.get(recipe_hash), self._parts[name]
        if epochs is None:
            return None
        own = parts.get(self._wholes[recipe_hash]) or [*itertools.chain.from_iterable(parts.values())]
        nearest = min((abs(epochs - each.epochs) for each in own), default=0.0)
        near = [each for each in own if abs(epochs - each.epochs) == nearest]
        values = [epochs / each.epochs * median(self._of_work[name, each.work]) + each.rest for each in near]
        return fmean(values) if values else None

    @property
    def now(self) -> float:
        """Minutes since an arbitrary time."""
        return self._clock() / 60

    def trainings(self, recipe_hash: str, without: Sequence[Record] = ()) -> float | None:
        """Return how many trials of that recipe the limits have room for. Costs of the trials `without` are treated as
        not spent. None without a limit, and if the cost of such a trial is unknown."""
        rooms = []
        for name in self.limits:
            cost = self._by_own(name, recipe_hash)
            if not cost:
                return None
            returned = math.fsum(LIMITS[name].of(record.cost) or 0.0 for record in without)
            rooms.append((max(0.0, self.left(name)) + returned) / cost)
        return min(rooms, default=None)

    def fits(
        self,
        trials: Sequence[str],
        running: Sequence[Running] = (),
        later: Sequence[Sequence[str]] = (),
        unawaited: Sequence[Running] = (),
        share: float = 1.0,
    ) -> bool:
        """Whether trials of these recipes may begin now, and still leave room for the stages in `later`. A stage begins
        once the stage before and the `running` trials have ended, whether or not `unawaited` ones have. `share`: share
        of the limits that may be used. The first trials of a study always begin."""
        return all(self._fits(name, trials, running, later, unawaited, share) for name in self.limits)

    def _fits(
        self,
        name: str,
        trials: Sequence[str],
        running: Sequence[Running],
        later: Sequence[Sequence[str]],
        unawaited: Sequence[Running],
        share: float,
    ) -> bool:
        if any(self.guess(name, each) is None for each in trials):
            return True
        now, *stages = [[self.guess(name, each) or 0.0 for each in stage] for stage in (trials, *later)]
        if not LIMITS[name].clock:
            under_way = math.fsum(self.guess(name, each) or 0.0 for each, _ in (*running, *unawaited))
            used = math.fsum((self.spent(name), *now, under_way, *itertools.chain(*stages)))
            return used <= share * self.limits[name] + 1e-9  # rounding
        busy, others = (
            [max(0.0, (self.guess(name, each) or 0.0) - since) for each, since in side] for side in (running, unawaited)
        )
        left = share * self.limits[name] - self.spent(name)
        return SLACK * makespan(now, self.places, busy, stages, others) <= left

    def ended(self, left_out: int) -> Limited:
        """Return the facts that `study.json` stores of the limit that ended a study. `left_out`: number of trials."""
        name = min(self.limits, key=lambda name: self.left(name) / (self.guess(name) or math.inf))
        return {
            "limit": name,
            "number": self.limits[name],
            "spent": self.spent(name),
            "a_trial": self.guess(name),
            "left_out": left_out,
        }


def makespan(
    trials: Sequence[float],
    places: int,
    busy: Sequence[float] = (),
    later: Sequence[Sequence[float]] = (),
    unawaited: Sequence[float] = (),
) -> float:
    """Return the time at which the last trial ends if each trial, in order, begins on the first free place. `busy`,
    `unawaited`: times until places are free. Each stage of `later` waits for the stage before and for `busy`."""
    free = [*busy, *unawaited, *[0.0] * (places - len(busy) - len(unawaited))]
    heapq.heapify(free)
    begin = lay_out(trials, free, end=max(busy, default=0.0))
    for stage in later:
        begin = lay_out(stage, free, begin, begin)
    return begin


def lay_out(trials: Sequence[float], free: list[float], begin: float = 0.0, end: float = 0.0) -> float:
    """Return the time at which the last trial ends, at least `end`. Each trial, in order, begins on the first free
    place, but not before `begin`. `free`: a heap of the times when places become free, updated in place."""
    for trial in trials:
        ends = max(begin, free[0]) + trial
        heapq.heapreplace(free, ends)
        end = max(end, ends)
    return end


def _whole(recipe: Mapping[str, Any]) -> str:
    """Return a key that this flat recipe shares with the same recipe on another share of the data."""
    return repr(sorted((key, str(value)) for key, value in recipe.items() if key != "corpus.share"))


def _epochs(recipe: Mapping[str, Any]) -> float | None:
    """Return the epochs of this flat recipe times its share of the data; None if its steps are bounded."""
    epochs = recipe.get("optimisation.epochs")
    bounded = recipe.get("optimisation.max_steps") is not None
    return None if bounded or epochs is None else epochs * recipe.get("corpus.share", 1.0)


def busy_seconds(records: Iterable[Record]) -> float:
    """Return the seconds in which at least one of these trials ran."""
    spans = []
    for record in records:
        seconds = record.cost.get("seconds")
        if record.finished_at and isinstance(seconds, int | float):
            end = datetime.datetime.fromisoformat(record.finished_at).timestamp()
            spans.append((end - seconds, end))
    lengths, until = [0.0], -math.inf
    for begin, end in sorted(spans):
        lengths.append(max(0.0, end - max(begin, until)))
        until = max(until, end)
    return math.fsum(lengths)


def check_limits(limits: Mapping[str, float], gpus: float) -> None:
    """Raise `UserError` for a limit on the time of GPUs if trials use no GPU."""
    for name in limits:
        if LIMITS[name].needs_gpu and not gpus:
            raise UserError(f"--limit {name} is of GPUs, and trials get none here; worker_hours bounds a study as well")
