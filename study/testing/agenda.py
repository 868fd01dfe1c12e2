"""Runs an agenda on simulated time. A function of the caller returns how long each trial takes, and its record."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass

from reports.ledger import Record
from study.search.agenda import Agenda
from study.trial import Trial


@dataclass
class SimulatedClock:
    """A clock that returns simulated seconds, for `Budget`."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


@dataclass(frozen=True)
class SimulatedTrial:
    """A trial, its begin and end in seconds, and its record; None if it failed or was cut off."""

    trial: Trial
    began: float
    ended: float
    record: Record | None


def drive(
    agenda: Agenda, clock: SimulatedClock, outcome: Callable[[Trial], tuple[float, Record | None]]
) -> list[SimulatedTrial]:
    """Run an agenda until its end, or until its limit cuts off running trials. `outcome` returns seconds and record."""
    running: list[tuple[float, int, float, Trial, Record | None]] = []
    numbers, ran = itertools.count(), list[SimulatedTrial]()
    while True:
        while len(running) < agenda.budget.places and (trial := agenda.next()) is not None:
            seconds, record = outcome(trial)
            heapq.heappush(running, (clock.seconds + seconds, next(numbers), clock.seconds, trial, record))
        if not running:
            return ran
        ended, _, began, trial, record = heapq.heappop(running)
        cuttable = [(trial, began, record), *((other, since, of) for _, _, since, other, of in running)]
        limit = clock.seconds + agenda.budget.seconds_left()
        trained = {
            other.key for other, since, of in cuttable if of and since + of.cost.get("train_seconds", 0.0) <= limit
        }
        left = max(0.0, agenda.seconds_to_halt(trained.__contains__))
        if clock.seconds + left < ended:
            clock.seconds += left
            return [*ran, *(SimulatedTrial(other, since, clock.seconds, None) for other, since, _ in cuttable)]
        clock.seconds = ended
        agenda.tell(trial.key, record)
        ran.append(SimulatedTrial(trial, began, ended, record))
