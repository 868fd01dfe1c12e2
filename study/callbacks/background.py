"""A callback that runs another callback in a thread, since a tracker's server may be slow."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence

from study.callbacks.base import Callback
from study.engine.messages import Event
from study.trial import Trial
from trainables.errors import UserError

PATIENCE_SECONDS = 60.0
"""At the end of a study, seconds to wait for one answer of a tracker."""


class InBackground(Callback):
    """Passes every event to another callback, in order, and does not wait, except in `close`.

    An error of the other callback is raised by the next call of any method here.
    """

    def __init__(self, name: str, make: Callable[[], Callback]) -> None:
        """`make` builds the other callback, in the new thread. `name`: the tracker's name in messages."""
        self.name = name
        self.events: queue.SimpleQueue[tuple[str, tuple[object, ...]]] = queue.SimpleQueue()
        self.done = 0
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._work, args=(make,), daemon=True)
        self.thread.start()

    def handle(self, event: Event, trials: Sequence[Trial]) -> None:
        self._put("handle", event, trials)

    def tick(self) -> None:
        if self.error is not None or self.events.empty():
            self._put("tick")

    def close(self) -> None:
        """Wait for the other callback as long as it makes progress; `UserError` if it stops."""
        self._put("close")
        done = -1
        while self.thread.is_alive() and done < self.done:
            done = self.done
            self.thread.join(PATIENCE_SECONDS)
        if self.thread.is_alive():
            raise UserError(f"{self.name} did not answer for {PATIENCE_SECONDS:.0f} s; it lacks the last trials")
        self._raise()

    def _put(self, method: str, *arguments: object) -> None:
        self._raise()
        self.events.put((method, arguments))

    def _raise(self) -> None:
        if self.error is not None:
            raise self.error

    def _work(self, make: Callable[[], Callback]) -> None:
        try:
            callback = make()
            method = ""
            while method != "close":
                method, arguments = self.events.get()
                getattr(callback, method)(*arguments)
                self.done += 1
        except BaseException as error:
            self.error = error
