"""What is left of a study's limits on all of its trials together, such as `--limit gpu_hours=20`."""

from __future__ import annotations

import datetime
import math
import time
from collections.abc import Callable, Iterable, Mapping
from statistics import fmean
from typing import Any

from reports.ledger import Record
from reports.ledger.study_info import Limited
from search_spaces.limits import LIMITS
from trainables.errors import UserError
from trainables.recipe import Recipe


class Budget:
    """Adds up what trials cost. Those of earlier runs count; one that failed left no record, and does not.

    What a trial will take is guessed from those that ended: from the other seeds of its recipe, else by its epochs from
    the trainings that came to their end, else from all. So the first trials of a study always begin.
    """

    def __init__(
        self,
        limits: Mapping[str, float],
        records: Iterable[Record] = (),
        places: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`limits` may hold limits of single trials, too; they are passed over. `records` are of earlier runs, `places`
        how many trials run at once. From now on time passes by `clock`, in seconds."""
        self.limits = {name: number for name, number in limits.items() if LIMITS[name].whole}
        self._places, self._clock, self._begun = places, clock, clock()
        self._costs: dict[str, dict[str, list[float]]] = {name: {} for name in self.limits}  # by limit and recipe
        self._whole: dict[str, list[float]] = {name: [] for name in self.limits}  # trained to their end, and tested
        self._parts: dict[str, list[tuple[float, float]]] = {name: [] for name in self.limits}  # an epoch, and the rest
        self._epochs: dict[str, float] = {}  # by recipe
        records = [*records] if self.limits else []
        self._earlier = busy_seconds(records)
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """A trial has ended."""
        for name, costs in self._costs.items():
            value = LIMITS[name].of(record.cost)
            if value is not None:
                costs.setdefault(record.recipe_hash, []).append(value)
                if record.status == "finished" and record.tested and Recipe.from_flat(record.recipe).trains:
                    self._whole[name].append(value)
                epochs, cost = _epochs(record.recipe), record.cost
                seconds, whole = cost.get("train_seconds"), cost.get("seconds")
                if record.status == "finished" and epochs and seconds and whole:
                    training = value * seconds / whole
                    self._parts[name].append((training / epochs, value - training))

    def expect(self, recipes: Iterable[Recipe]) -> None:
        """Trials of these run or are next: how long their trainings are is known."""
        self._epochs |= {recipe.hash: epochs for recipe in recipes if (epochs := _epochs(recipe.flat())) is not None}

    def spent(self, name: str) -> float:
        """Of that limit, by all trials that ended; of time, since it began, and while trials of earlier runs ran."""
        if LIMITS[name].clock:
            return (self._earlier + self._clock() - self._begun) / 60
        return math.fsum(value for values in self._costs[name].values() for value in values)

    def left(self, name: str) -> float:
        """For trials, of that limit: of time, in all places together."""
        return (self.limits[name] - self.spent(name)) * (self._places if LIMITS[name].clock else 1)

    def seconds_left(self) -> float:
        """Until the limit in minutes; infinite without one."""
        clocks = [name for name in self.limits if LIMITS[name].clock]
        return min((60 * (self.limits[name] - self.spent(name)) for name in clocks), default=math.inf)

    def guess(self, name: str, recipe_hash: str | None = None) -> float | None:
        """What a trial of that recipe, or of one that is not chosen yet, will take; None where none has ended."""
        costs, epochs = self._costs[name], self._epochs.get(recipe_hash or "")
        values = costs.get(recipe_hash or "")
        if not values and epochs is not None:
            values = [epochs * epoch + rest for epoch, rest in self._parts[name]]
        values = values or [value for values in costs.values() for value in values]
        return fmean(values) if values else None

    def guess_whole(self, name: str) -> float:
        """What a trial of the finals will take, which trains to its end and is tested: as those that did, if these took
        no less than others do, or else half more than others."""
        usual = self.guess(name) or 0.0
        return max(fmean(self._whole[name]), usual) if self._whole[name] else 1.5 * usual

    def room(self, running: Iterable[str] = (), following: str | None = None, kept: int = 0, again: int = 0) -> float:
        """How many trials like the one of the recipe that follows may still begin, beside running ones, given by their
        recipes, and so many others for which room is kept, `again` of them perhaps of the recipe that follows; infinite
        where nothing bounds them."""
        running = list(running)
        return min((self.room_of(name, running, following, kept, again) for name in self.limits), default=math.inf)

    def room_of(
        self, name: str, running: Iterable[str] = (), following: str | None = None, kept: int = 0, again: int = 0
    ) -> float:
        """As `room`, by that limit alone."""
        one, usual = self.guess(name, following), self.guess_whole(name)
        left = self.left(name) - kept * usual - again * max(0.0, (one or 0.0) - usual)
        left -= math.fsum(self.guess(name, recipe) or 0.0 for recipe in running)
        if left <= 0:
            return 0
        return math.floor(left / one + 1e-9) if one else math.inf  # rounding must not cost a trial

    def ended(self, left_out: int) -> Limited:
        """What `study.json` keeps of a limit that has ended a study, and how many trials were left out."""
        name = min(self.limits, key=self.room_of)
        return {
            "limit": name,
            "number": self.limits[name],
            "spent": self.spent(name),
            "a_trial": self.guess(name),
            "left_out": left_out,
        }


def _epochs(recipe: Mapping[str, Any]) -> float | None:
    """Passes over all of the data of this flat recipe; None where its steps are bounded."""
    epochs = recipe.get("optimisation.epochs")
    bounded = recipe.get("optimisation.max_steps") is not None
    return None if bounded or epochs is None else epochs * recipe.get("corpus.share", 1.0)


def busy_seconds(records: Iterable[Record]) -> float:
    """How long any of these trials ran; time in which several did counts once."""
    spans = []
    for record in records:
        seconds = record.cost.get("seconds")
        if record.finished_at and isinstance(seconds, int | float):
            end = datetime.datetime.fromisoformat(record.finished_at).timestamp()
            spans.append((end - seconds, end))
    found, until = [0.0], -math.inf
    for begin, end in sorted(spans):
        found.append(max(0.0, end - max(begin, until)))
        until = max(until, end)
    return math.fsum(found)


def check_limits(limits: Mapping[str, float], gpus: float) -> None:
    """`UserError` for a limit on GPUs where trials get none."""
    for name in limits:
        if LIMITS[name].needs_gpu and not gpus:
            raise UserError(f"--limit {name} is of GPUs, and trials get none here; worker_hours bounds a study as well")
