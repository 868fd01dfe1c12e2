"""The schedulers that `--scheduler` names. They may stop explored trials early, never the paper's rows.

A scheduler of your own is a function from a `Setting` to a `Scheduler`, in a file given by `--plugin`:

    class Strict:
        def goes_on(self, trial, rung, values):
            return values[0] > 50

    SCHEDULERS.add(SchedulerEntry("strict", lambda setting: Strict(), "stops what has less than 50"))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from trainables.registry import Registry, load


@dataclass(frozen=True)
class Setting:
    """Input from which a scheduler is built."""

    rungs: tuple[float, ...]
    """Amount of training before each rung, rising, in one unit: steps, tokens, epochs, or the share of the whole
    training. The last one is the end of a training if that is the same for all trials."""
    goals: int = 1
    """Number of values at a rung."""


class Scheduler(Protocol):
    """Decides at each rung which trials go on. It uses neither Ray nor time."""

    def goes_on(self, trial: str, rung: int, values: Sequence[float]) -> bool:
        """Return whether the trial of that name goes on after this rung, counted from 1. `values`: development scores
        of the goals there, the higher the better. Called once for each trial and rung, in the order in which trials
        arrive, and never at the last rung, where the training is over anyway."""


@dataclass(frozen=True)
class SchedulerEntry:
    """A registered scheduler."""

    name: str
    builder: str | Callable[[Setting], Scheduler]
    """A function from a `Setting` to a `Scheduler`, or its name `"module:function"`."""
    meaning: str
    stops: bool = True
    """Whether the scheduler may stop a trial. Trials that may be stopped are scored at every rung, and train alone."""
    several_goals: bool = False
    """Whether the scheduler can judge by several goals at once."""

    def build(self, setting: Setting) -> Scheduler:
        """Return a new scheduler."""
        scheduler: Scheduler = load(self.builder)(setting)
        return scheduler


class NeverStops:
    """A scheduler that lets every trial run to its end."""

    def __init__(self, setting: Setting) -> None:
        pass

    def goes_on(self, trial: str, rung: int, values: Sequence[float]) -> bool:
        return True


SCHEDULERS = Registry(
    "scheduler",
    SchedulerEntry("none", NeverStops, "every trial runs to its end (default)", stops=False, several_goals=True),
    SchedulerEntry(
        "asha",
        "study.search.halving:asha",
        "at each rung the best share goes on, as large as this rung's part of the next one",
        several_goals=True,
    ),
)
