"""All watchers of a study, told one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from study.callbacks.base import WATCHERS, Outlook, Watcher
from trainables.errors import unforeseen

if TYPE_CHECKING:
    from study.engine.messages import Event
    from study.trial import Trial


class Audience:
    """Passes every event on to all watchers. One that raises is warned about once and left out from then on."""

    def __init__(self, outlook: Outlook) -> None:
        self._watchers: dict[str, Watcher] = {}
        for name, entry in WATCHERS.items():
            try:
                watcher = entry.build(outlook)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                _warn(name, error)
                continue
            if watcher is not None:
                self._watchers[name] = watcher

    def hear(self, event: Event, trials: Sequence[Trial]) -> None:
        """Something happened to these trials, whom somebody may hear of."""
        if event.hears and trials:
            self._all(lambda watcher: watcher.hear(event, trials))

    def tick(self) -> None:
        self._all(lambda watcher: watcher.tick())

    def close(self) -> None:
        self._all(lambda watcher: watcher.close())

    def _all(self, tell: Callable[[Watcher], None]) -> None:
        for name, watcher in list(self._watchers.items()):
            try:
                tell(watcher)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # what is shown never ends a study, not by `sys.exit()` either
                del self._watchers[name]
                _warn(name, error)


def _warn(name: str, error: BaseException) -> None:
    print(f"warning: {name} is left out from now on: {unforeseen(error)}", flush=True)
