"""All watchers of a study, told one after another."""

from __future__ import annotations

from typing import Any

from study.callbacks.base import WATCHERS, Outlook, Relay, Watcher
from trainables.errors import unforeseen


class Audience(Relay):
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

    def relay(self, event: str, *arguments: Any) -> None:
        for name, watcher in list(self._watchers.items()):
            try:
                getattr(watcher, event)(*arguments)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # what is shown never ends a study, not by `sys.exit()` either
                del self._watchers[name]
                _warn(name, error)


def _warn(name: str, error: BaseException) -> None:
    print(f"warning: {name} is left out from now on: {unforeseen(error)}", flush=True)
