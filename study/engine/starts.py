"""When a study ends since its worker groups cannot start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ray.exceptions import RayActorError, RayError, RayTaskError

from study.engine.messages import Event, Failed, Interrupted, NotStarted, Rung, Started, Step
from trainables.errors import unforeseen, words_of

STARTS = 4
"""So many failed starts for one task, and nothing good meanwhile, end the study."""


class FailedStarts:
    """Counts the starts of worker groups that failed since a trial of the study last began, took a step or ended well.

    A start has failed where an error was raised before the group took its task, as by an import. A process or a machine
    that dies raises nothing and counts for nothing, however often, so preemption never ends a study; and what fails
    after a task was taken is the trial's own, of which the coordinator counts the attempts. Starts are counted by
    task, so that a thousand groups that fail by one hiccup have failed once each. Nobody who works is disturbed: while
    any trial runs, the others are started again and again.
    """

    def __init__(self) -> None:
        self._running: set[str] = set()
        self._by_task: Counter[tuple[str, ...]] = Counter()
        """By the keys of its open trials."""

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
        elif not isinstance(event, Interrupted | Failed):
            self._by_task.clear()
        if isinstance(event, Started):
            self._running.update(keys)
        elif not isinstance(event, Step | Rung):
            self._running.difference_update(keys)


def is_raised(error: BaseException) -> bool:
    """Whether code raised it; else Ray tells by it of a process or a machine that died."""
    if isinstance(error, RayActorError):
        return error.actor_init_failed
    return isinstance(error, RayTaskError) or not isinstance(error, RayError)


def last_words(error: BaseException) -> str:
    """`ImportError: ...`. Ray's own errors end with such a line of what was raised elsewhere."""
    lines = words_of(error).splitlines()
    return lines[-1].strip() if len(lines) > 1 else unforeseen(error)
