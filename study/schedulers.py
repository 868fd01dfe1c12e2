"""The schedulers that `--scheduler` names. They may stop explored trials early, never the paper's rows.

A scheduler of your own is a function that returns one of Ray Tune's, in a file given by `--plugin`:

    SCHEDULERS.add(SchedulerEntry("median", median, "stops what is below the median of its rung"))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from trainables.registry import Registry, load

if TYPE_CHECKING:
    from ray.tune.schedulers import TrialScheduler


@dataclass(frozen=True)
class Setting:
    """What a scheduler is made for."""

    rungs: tuple[float, ...]
    """How much of a training each rung has seen, rising, in one unit: steps, tokens, epochs, or the share of the whole.
    The last one is the end of a training where that is the same for all."""
    goals: int = 1
    """How many values a rung has."""
    seed: int = 0


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
    builder: Any
    """A function without arguments, or `"module:function"`, that returns a Tune scheduler. It is asked once a rung, by
    `study.spec.METRIC` (maximised) at `study.spec.RUNG`, and may answer with CONTINUE or STOP."""
    meaning: str
    stops: bool = True
    """Whether it ever stops a trial. Trials that may be stopped are scored at every rung, and train alone."""
    several_goals: bool = False
    """Whether it can judge a space that has several goals."""

    def build(self) -> TrialScheduler:
        """The Tune scheduler, new."""
        scheduler: TrialScheduler = load(self.builder)()
        return scheduler


SCHEDULERS = Registry(
    "scheduler",
    SchedulerEntry(
        "none", "study.judge:none", "every trial runs to its end (default)", stops=False, several_goals=True
    ),
    SchedulerEntry(
        "asha", "study.judge:asha", "at the first and the third rung the best third of the explored trials goes on"
    ),
)
