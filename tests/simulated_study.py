"""A study without Ray, on a clock of its own: trials run side by side, and callbacks are told what they do."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reports.ledger import LEDGER, Ledger, Record
from reports.testing import made_record
from search_spaces import load_space
from study.callbacks import Callback, StudyState
from study.search.budget import Budget
from study.search.outlook import Outlook
from study.trial import Resources, Trial
from trainables.recipe import Recipe

SCORES = {
    "STSBenchmark": {"dev_spearman_cosine": 60.0},
    "MR": {"dev_accuracy": 70.0},
    **{f"STS{year}": {"spearman_wmean": 50.0, "spearman_mean": 40.0} for year in range(12, 17)},
}
HARDWARE = "2 cores"
BASE = Recipe()


def planned(rows: int, seeds: int = 1, name: Callable[[int], str] = "row {}".format) -> list[Trial]:
    """Trials of a study, the seeds of a recipe together."""
    recipes = [BASE.override({"objective.temperature": 0.05 + 0.01 * row}) for row in range(rows)]
    return [
        Trial(recipe, seed, name(row), row=True, resources=Resources(hardware=HARDWARE))
        for row, recipe in enumerate(recipes)
        for seed in range(seeds)
    ]


def record_of(trial: Trial, training: float, scoring: float, status: Any = "finished") -> Record:
    return made_record(
        trial.recipe.flat(),
        trial.recipe.hash,
        trial.seed,
        status,
        scores=SCORES if status == "finished" else {},
        cost={"seconds": training + scoring, "train_seconds": training, "evaluation_seconds": scoring},
        hardware=HARDWARE,
    )


class Study:
    """A study that callbacks follow: its queue, its ledger, and a clock that stands still unless a test moves it."""

    def __init__(self, results: Path, monkeypatch: pytest.MonkeyPatch, trials: Sequence[Trial], at_once: int):
        self.results, self.ledger, self.now = results, Ledger(results / LEDGER), 1000.0
        self.queue = deque(trials)
        self.begun: set[str] = set()
        self.budget = Budget({})
        space = load_space("scl_ablation")
        self.plan: Any = SimpleNamespace(
            results=results,
            base=BASE,
            space=space,
            seeds=[0],
            limits={},
            races=False,
            first_decides=False,
            trains_several=True,
        )
        self.at_once = at_once
        monkeypatch.setattr("time.monotonic", lambda: self.now)

    def begin(self) -> StudyState:
        """A run of the study begins, with the ledger as it is now."""
        waiting = lambda: iter(self.queue)  # noqa: E731
        self.state = StudyState(self.plan, self.ledger, self.at_once, self.remaining, waiting, self.ahead, self.left)
        return self.state

    def tell(self, callback: Callback, event: str, *arguments: Any) -> None:
        """The state hears of it first, as in a study."""
        for listener in dict.fromkeys((self.state, callback)):
            getattr(listener, event)(*arguments)

    def remaining(self) -> int:
        return len(self.queue) + len(self.begun)

    def ahead(self) -> Outlook:
        """The trials of the queue that the limits have room for."""
        waiting = [trial.recipe_hash for trial in self.queue]
        running = [(key.rpartition("-")[0], 0.0) for key in self.begun]
        fitting = itertools.takewhile(lambda n: self.budget.fits(waiting[:n], running), range(1, len(waiting) + 1))
        return Outlook(waiting[: max(fitting, default=0)], seconds_left=self.left())

    def left(self) -> float:
        return self.budget.seconds_left()

    def start(self, callback: Callback, members: int = 1) -> list[Trial]:
        """The next ones of the queue begin, together."""
        trials = [self.queue.popleft() for _ in range(members)]
        self.begun |= {trial.key for trial in trials}
        self.tell(callback, "started", trials)
        return trials

    def finish(self, callback: Callback, trial: Trial, record: Record) -> None:
        self.ledger.write(record)
        self.budget.add(record)
        self.begun.discard(trial.key)
        self.tell(callback, "finished", trial, record)

    def fail(self, callback: Callback, trial: Trial, reason: str) -> None:
        self.begun.discard(trial.key)
        self.tell(callback, "failed", trial, reason)

    def wait(self, callback: Callback, seconds: float) -> None:
        """So long nothing happens."""
        self.now += seconds
        callback.tick()


@dataclass(frozen=True)
class Machine:
    """What a simulated study runs on. All in seconds."""

    places: int
    start: float = 12.0
    """Until a place's first trial begins."""
    between: float = 0.5
    """Between two trials of a place."""
    elsewhere: bool = False
    """Whether a trial is scored beside the next one's training."""
    together: int = 1
    """How many train in one population."""


def simulate(
    study: Study,
    callback: Callback,
    machine: Machine,
    training: Callable[[Trial], float],
    scoring: Callable[[Trial], float],
    *,
    steps: int = 100,
    every: float = 1.0,
) -> Iterator[float]:
    """Run it to its end, and yield its clock again and again, after every `every` seconds."""
    number = itertools.count()
    began = study.now
    events: list[tuple[float, int, Callable[[], None]]] = []

    def later(seconds: float, happens: Callable[[], None]) -> None:
        heapq.heappush(events, (study.now + seconds, next(number), happens))

    def begin() -> None:
        if not study.ahead().trials:
            return
        trials = study.start(callback, min(machine.together, len(study.queue)))
        length = sum(map(training, trials))
        for step in range(1, steps + 1):
            later(length * step / steps, lambda step=step: tell_step(trials, step))
        at = length
        for trial in trials:
            at += scoring(trial)
            record = record_of(trial, training(trial), scoring(trial))
            later(at, lambda trial=trial, record=record: study.finish(callback, trial, record))
        later((length if machine.elsewhere else at) + machine.between, begin)

    def tell_step(trials: Sequence[Trial], step: int) -> None:
        for trial in trials:
            study.tell(callback, "step", trial, step, steps, {"loss": 2 + 2 * math.exp(-4 * step / steps)})

    for place in range(machine.places):
        later(machine.start * (1 + place / 4), begin)
    look = study.now + every
    while events:
        if events[0][0] > look:
            study.now = look
            callback.tick()
            yield look - began
            look += every
            continue
        study.now, _, happens = heapq.heappop(events)
        happens()
