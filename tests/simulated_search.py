"""A search without Ray, on a clock of its own: its agenda gives trials to places, and callbacks are told of them."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from reports.ledger import LEDGER, Ledger, Record
from study.callbacks import StudyState
from study.search.agenda import Agenda
from study.search.outlook import outlook
from study.testing.agenda import SimulatedClock
from study.trial import Trial

STEPS = 50
START, BETWEEN = 12.0, 0.5
"""Seconds until the first trial begins, and between two trials of a place."""


def follow(
    search: Agenda,
    clock: SimulatedClock,
    outcome: Callable[[Trial], tuple[float, Record]],
    results: Path,
    *,
    every: float,
) -> Iterator[tuple[float, StudyState]]:
    """Run it to its end, or to that of its time, and yield the clock and how the study stands after every `every`
    seconds. The test's `time.monotonic` must be the clock."""
    budget = search.budget
    plan: Any = SimpleNamespace(results=results, limits=search.design.limits, races=False, first_decides=False)
    state = StudyState(
        plan,
        Ledger(results / LEDGER),
        budget.places,
        lambda: search.remaining,
        search.waiting,
        lambda: outlook(search),
        budget.seconds_left,
    )
    numbers, events = itertools.count(), list[tuple[float, int, Callable[[], None]]]()
    idle: list[int] = []

    def later(seconds: float, happens: Callable[[], None]) -> None:
        heapq.heappush(events, (clock.seconds + seconds, next(numbers), happens))

    def begin(place: int) -> None:
        trial = search.next()
        if trial is None:
            idle.append(place)
            return
        state.started([trial])
        seconds, record = outcome(trial)
        training = float(record.cost.get("train_seconds") or 0.0)
        for step in range(1, STEPS + 1) if trial.recipe.trains else ():
            later(training * step / STEPS, lambda step=step: state.step(trial, step, STEPS, {"loss": 1.0}))
        later(seconds, lambda: end(trial, record, place))

    def end(trial: Trial, record: Record, place: int) -> None:
        search.tell(trial.key, record)
        state.finished(trial, record)
        for free in (place, *idle):
            later(BETWEEN, lambda free=free: begin(free))
        idle.clear()

    for place in range(budget.places):
        later(START, lambda place=place: begin(place))
    look = every
    while events and (search.progress.running or len(idle) != budget.places):
        until = min(events[0][0], clock.seconds + budget.seconds_left())
        if look < until:
            clock.seconds = look
            yield look, state
            look += every
        elif until < events[0][0]:
            clock.seconds = until
            return
        else:
            clock.seconds, _, happens = heapq.heappop(events)
            happens()
    assert math.isfinite(clock.seconds)
