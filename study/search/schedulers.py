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
    """What a scheduler is made for."""

    rungs: tuple[float, ...]
    """How much of a training each rung has seen, rising, in one unit: steps, tokens, epochs, or the share of the whole.
    The last one is the end of a training where that is the same for all."""
    goals: int = 1
    """How many values a rung has."""


class Scheduler(Protocol):
    """Says rung by rung which trials go on. It knows neither Ray nor time."""

    def goes_on(self, trial: str, rung: int, values: Sequence[float]) -> bool:
        """Whether the trial of that name goes on after its rung, counted from 1. `values` are its goals' development
        scores there, each the higher the better. It is asked once for each, in the order in which trials arrive, and
        never at the last rung, where the training is over anyway."""


@dataclass(frozen=True)
class SchedulerEntry:
    """A scheduler by name."""

    name: str
    builder: str | Callable[[Setting], Scheduler]
    """A function, or `"module:function"`, from a `Setting` to a `Scheduler`."""
    meaning: str
    stops: bool = True
    """Whether it ever stops a trial. Trials that may be stopped are scored at every rung, and train alone."""
    several_goals: bool = False
    """Whether it can judge a space that has several goals."""

    def build(self, setting: Setting) -> Scheduler:
        """The scheduler, new."""
        scheduler: Scheduler = load(self.builder)(setting)
        return scheduler


class NeverStops:
    """Every trial runs to its end."""

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
