"""Passes the events of a study to all callbacks, one after another."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from study.callbacks import CALLBACKS, Callback, StudyState
from study.engine.messages import Event
from study.trial import Trial
from trainables.errors import describe_error


class Dispatch:
    """Passes every event to the study's state, and then to each callback. A callback that raises is warned about once
    and not called again."""

    def __init__(self, state: StudyState) -> None:
        self._callbacks: dict[str, Callback] = {"the study's state": state}
        for name, entry in CALLBACKS.items():
            with self._guarded(name):
                if (callback := entry.build(state)) is not None:
                    self._callbacks[name] = callback

    def handle(self, event: Event, trials: Sequence[Trial]) -> None:
        """Pass an event of these trials to every callback, if a method exists for it."""
        if event.callback_method and trials:
            self._all(lambda callback: callback.handle(event, trials))

    def tick(self) -> None:
        self._all(lambda callback: callback.tick())

    def close(self) -> None:
        self._all(lambda callback: callback.close())

    def _all(self, tell: Callable[[Callback], None]) -> None:
        for name, callback in list(self._callbacks.items()):
            with self._guarded(name):
                tell(callback)

    @contextlib.contextmanager
    def _guarded(self, name: str) -> Iterator[None]:
        """Catch all errors of a callback inside, even `sys.exit()`, because a display must never end a study."""
        try:
            yield
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._callbacks.pop(name, None)
            print(f"warning: {name} is left out from now on: {describe_error(error)}", flush=True)
