"""Tells all callbacks of a study what happens, one after another."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from study.callbacks import CALLBACKS, Callback, StudyState
from study.engine.messages import Event
from study.trial import Trial
from trainables.errors import unforeseen


class Dispatch:
    """Passes every event on to the study's state, and then to each callback. One that raises is warned about once and
    left out from then on."""

    def __init__(self, state: StudyState) -> None:
        self._callbacks: dict[str, Callback] = {"the study's state": state}
        for name, entry in CALLBACKS.items():
            with self._guarded(name):
                if (callback := entry.build(state)) is not None:
                    self._callbacks[name] = callback

    def hear(self, event: Event, trials: Sequence[Trial]) -> None:
        """Something happened to these trials, whom somebody may hear of."""
        if event.hears and trials:
            self._all(lambda callback: callback.hear(event, trials))

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
        """What is shown never ends a study, not by `sys.exit()` either."""
        try:
            yield
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._callbacks.pop(name, None)
            print(f"warning: {name} is left out from now on: {unforeseen(error)}", flush=True)
