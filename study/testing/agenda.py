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


STEPS = 100
"""Number of steps that each training reports."""


def drive(
    agenda: Agenda, clock: SimulatedClock, outcome: Callable[[Trial], tuple[float, Record | None]]
) -> list[SimulatedTrial]:
    """Run an agenda until its end, or until its limit cuts off running trials. `outcome` returns seconds and record."""
    running: list[tuple[float, int, float, Trial, Record | None]] = []
    steps: list[tuple[float, str, int]] = []  # the steps to come: when, of which trial, and their number
    numbers, ran = itertools.count(), list[SimulatedTrial]()
    while True:
        while len(running) < agenda.budget.places and (trial := agenda.next()) is not None:
            seconds, record = outcome(trial)
            began = clock.seconds
            heapq.heappush(running, (began + seconds, next(numbers), began, trial, record))
            each = record.cost.get("train_seconds", 0.0) / STEPS if record else 0.0
            for step in range(1, STEPS + 1 if each else 1):
                heapq.heappush(steps, (began + step * each, trial.key, step))
        if not running:
            return ran
        cuttable = [(trial, since, record) for _, _, since, trial, record in running]
        limit = clock.seconds + agenda.budget.seconds_left()
        trained = {
            trial.key for trial, since, of in cuttable if of and since + of.cost.get("train_seconds", 0.0) <= limit
        }
        end = clock.seconds + max(0.0, agenda.seconds_to_halt(trained.__contains__))
        if steps and steps[0][0] <= min(end, running[0][0]):
            clock.seconds, key, step = heapq.heappop(steps)
            agenda.step(key, step, STEPS)
            continue
        if end < running[0][0]:
            clock.seconds = end
            return [*ran, *(SimulatedTrial(trial, since, end, None) for trial, since, _ in cuttable)]
        clock.seconds, _, began, trial, record = heapq.heappop(running)
        agenda.tell(trial.key, record)
        ran.append(SimulatedTrial(trial, began, clock.seconds, record))
