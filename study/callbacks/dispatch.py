"""Tells all callbacks of a study what happens, one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
            try:
                callback = entry.build(state)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                _warn(name, error)
                continue
            if callback is not None:
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
            try:
                tell(callback)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # what is shown never ends a study, not by `sys.exit()` either
                del self._callbacks[name]
                _warn(name, error)


def _warn(name: str, error: BaseException) -> None:
    print(f"warning: {name} is left out from now on: {unforeseen(error)}", flush=True)
