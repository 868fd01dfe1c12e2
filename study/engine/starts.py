"""When a study ends since its worker groups cannot start."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from ray.exceptions import RayActorError, RayError, RayTaskError

from study.engine.messages import Died, Event, Failed, NotStarted, Rung, Started, Step, TrialsInterrupted
from trainables.errors import unforeseen, words_of

STARTS = 4
"""So many failed starts for one task, and nothing good meanwhile, end the study."""
OUTLIVED_SECONDS = 120.0
"""So long a machine must outlive a process, so that it was not the machine that died: of one that goes, Ray may tell
the deaths of its processes first, and its own up to a minute later."""


class FailedStarts:
    """Counts, by task, the starts of worker groups that failed since a trial last began, took a step or ended well.

    A start has failed where an error was raised, or a process died, before the group took its task. Machines that die
    do not count, so preemption never ends a study; what fails later is an attempt of the trial.
    """

    def __init__(self) -> None:
        self._running: set[str] = set()
        self._by_task: Counter[tuple[str, ...]] = Counter()
        """By the keys of its open trials."""
        self._deaths: list[tuple[float, Died]] = []
        """Those of which it is not known yet whether it was the machine, and when they were told."""

    @property
    def count(self) -> int:
        """Of all tasks."""
        return self._by_task.total()

    @property
    def hopeless(self) -> bool:
        """Whether the study should end."""
        return not self._running and max(self._by_task.values(), default=0) >= STARTS

    def hear(self, event: Event, keys: Sequence[str]) -> None:
        """Something happened to trials; `keys` are those of them that were open until then."""
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
        """Whether any of these trials runs."""
        return not self._running.isdisjoint(keys)

    def outlived(self, own_machine: Callable[[], str], living: Callable[[], Collection[str]]) -> list[Died]:
        """Deaths that were failed starts, each told once: their machines live on. Those of lost machines are forgotten.
        `own_machine`: the study's own, which it need not wait for; `living`: those that live and stay."""
        if not self._deaths:
            return []
        soon, late = {own_machine()}, time.monotonic() - OUTLIVED_SECONDS
        due = [death for death in self._deaths if death[0] <= late or death[1].nodes <= soon]
        self._deaths = [death for death in self._deaths if death not in due]
        machines = living() if due else ()
        return [event for _, event in due if event.nodes.issubset(machines)]


def is_raised(error: BaseException) -> bool:
    """Whether code raised it; else Ray tells by it of a process or a machine that died."""
    if isinstance(error, RayActorError):
        return error.actor_init_failed
    return isinstance(error, RayTaskError) or not isinstance(error, RayError)


def last_line(error: BaseException) -> str:
    """`ImportError: ...`. Ray's own errors end with such a line of what was raised elsewhere."""
    lines = words_of(error).splitlines()
    return lines[-1].strip() if len(lines) > 1 else unforeseen(error)
