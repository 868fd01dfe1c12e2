"""Decides when a study ends because its worker groups cannot start."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from ray.exceptions import RayActorError, RayError, RayTaskError

from study.engine.messages import Died, Event, Failed, NotStarted, Rung, Started, Step, TrialsInterrupted
from trainables.errors import describe_error, message_of

STARTS = 4
"""The study ends after this many failed starts for one task with no progress of any trial between them."""
OUTLIVED_SECONDS = 120.0
"""Seconds that a machine must outlive its dead process before the death counts as a failed start. When a whole machine
dies, Ray may report the deaths of its processes first, and of the machine up to a minute later."""


class FailedStarts:
    """Counts, by task, the failed starts of worker groups since a trial last began, took a step or ended well.

    A start failed if an error was raised, or a process died, before the group took its task. Machines that die do not
    count, so preemption never ends a study. A failure after the task was taken counts as an attempt of the trial.
    """

    def __init__(self) -> None:
        self._running: set[str] = set()
        self._by_task: Counter[tuple[str, ...]] = Counter()
        """Number of failed starts, by the sorted keys of the task's open trials."""
        self._deaths: list[tuple[float, Died]] = []
        """Deaths, with the time when each was heard of. It is not known yet whether the machine died too."""

    @property
    def count(self) -> int:
        """Number of failed starts of all tasks."""
        return self._by_task.total()

    @property
    def hopeless(self) -> bool:
        """Return whether the study should end, because its worker groups cannot start."""
        return not self._running and max(self._by_task.values(), default=0) >= STARTS

    def add_event(self, event: Event, keys: Sequence[str]) -> None:
        """Count one event. `keys`: keys of the event's trials that were open before the event."""
        if isinstance(event, NotStarted):
            self._by_task[tuple(keys)] += 1
        elif isinstance(event, Died):
            self._deaths.append((time.monotonic(), event))
        elif not isinstance(event, TrialsInterrupted | Failed):
            self._by_task.clear()
            self._deaths.clear()
        if isinstance(event, Started):
            self._running.update(keys)
        elif not isinstance(event, Step | Rung):
            self._running.difference_update(keys)

    def begun(self, keys: Sequence[str]) -> bool:
        """Return whether any of these trials runs."""
        return not self._running.isdisjoint(keys)

    def take_confirmed_deaths(
        self, own_machine: Callable[[], str], living: Callable[[], Collection[str]]
    ) -> list[Died]:
        """Return deaths whose machines live on, each once, as failed starts. Drop deaths on lost machines.
        `own_machine` returns the study's machine, which needs no wait; `living` returns machines that live and stay."""
        if not self._deaths:
            return []
        soon, late = {own_machine()}, time.monotonic() - OUTLIVED_SECONDS
        due = [death for death in self._deaths if death[0] <= late or death[1].nodes <= soon]
        self._deaths = [death for death in self._deaths if death not in due]
        machines = living() if due else ()
        return [event for _, event in due if event.nodes.issubset(machines)]


def is_raised(error: BaseException) -> bool:
    """Return whether code raised the error; False if it is Ray's report of a dead process or machine."""
    if isinstance(error, RayActorError):
        return error.actor_init_failed
    return isinstance(error, RayTaskError) or not isinstance(error, RayError)


def last_line(error: BaseException) -> str:
    """Return the last line of an error, such as `ImportError: ...`. Ray's errors end with the original error."""
    lines = message_of(error).splitlines()
    return lines[-1].strip() if len(lines) > 1 else describe_error(error)
