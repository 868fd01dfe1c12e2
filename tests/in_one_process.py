"""The coordinator and whoever calls it in one process, without Ray: calls are coroutines on one event loop.

The loop runs only while somebody waits, so that everything happens in the same order each time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest


class LostError(Exception):
    """In place of Ray's own errors."""


class Reference:
    """In place of Ray's: what it stands for may come later, or be an error."""

    def __init__(self, value: Any = None, ready: bool = True) -> None:
        self.value, self.ready = value, ready


class Remote:
    """Something with `remote`."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self.remote = call


class InOneProcess:
    """Ray, as far as the study's loop and its workers need it."""

    exceptions = SimpleNamespace(RayError=LostError, RayTaskError=type("TaskError", (LostError,), {}))

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def at_once(function: Callable[..., Any], *arguments: Any) -> Any:
            return function(*arguments)

        monkeypatch.setattr("asyncio.to_thread", at_once)
        monkeypatch.setattr("ray.put", lambda content: content)
        self.loop = asyncio.new_event_loop()

    def actor(self, made: object) -> Any:
        """A handle to the object, whose methods are coroutines."""
        return _Handle(self, made)

    def start(self, call: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        return self.loop.create_task(call)

    def wait(self, references: list[Any], num_returns: int = 1, timeout: float = 0) -> tuple[list[Any], list[Any]]:
        self.loop.run_until_complete(_turns())
        ready = [each for each in references if (each.ready if isinstance(each, Reference) else each.done())]
        return ready, [each for each in references if each not in ready]

    def get(self, reference: Any) -> Any:
        """What does not come within some seconds fails."""
        if not isinstance(reference, Reference):
            return self.loop.run_until_complete(asyncio.wait_for(reference, 20))
        if isinstance(reference.value, Exception):
            raise reference.value
        return reference.value

    def close(self) -> None:
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(_turns())
        self.loop.close()


class _Handle:
    def __init__(self, process: InOneProcess, made: object) -> None:
        self._process, self._made = process, made

    def __getattr__(self, name: str) -> Remote:
        method = getattr(self._made, name)
        return Remote(lambda *arguments: self._process.start(method(*arguments)))


async def _turns() -> None:
    """So many that whatever can go on has done so."""
    for _ in range(20):
        await asyncio.sleep(0)
