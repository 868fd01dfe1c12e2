"""What ends a study from outside: ctrl-C, and SIGTERM, which every cluster manager sends before it kills.

Both are a `KeyboardInterrupt` from the command's first line to its last, which `answered` turns into its exit code.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_terminated = threading.Event()


def answered(command: Callable[[], int]) -> int:
    """Run a command; returns its exit code, 143 where SIGTERM stopped it, 130 where ctrl-C did.

    A process that calls it, as a notebook does, answers SIGTERM afterwards as it did before.
    """
    if not _hears():
        return command()
    before = signal.signal(signal.SIGTERM, _stop)
    _terminated.clear()
    try:
        return command()
    except KeyboardInterrupt:
        print("\nstopped; run the same command again to continue", flush=True)
        return 143 if _terminated.is_set() else 130
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def leaves(code: int) -> None:
    """All is done but the end of the process, in which Ray ends too: from now on a signal ends it at once, with the
    same exit code."""
    for number in SIGNALS:
        signal.signal(number, lambda *_: os._exit(code))


def _hears() -> bool:
    """Whether this thread is the one that signals come to."""
    return threading.current_thread() is threading.main_thread()


def hear_again() -> None:
    """Put Python's handler of SIGTERM back: Ray's core takes its place, unknown to Python, whenever it starts or joins,
    and would abort the process three seconds after the signal."""
    if _hears():
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM) or signal.SIG_DFL)


def _stop(number: int, frame: object) -> None:
    _terminated.set()
    raise KeyboardInterrupt


def stops_already() -> None:
    """From now on SIGTERM changes nothing; a second ctrl-C still ends the command at once."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


@contextmanager
def deferred() -> Iterator[None]:
    """A signal that comes within is answered at the end."""
    signals: list[int] = []
    heard = SIGNALS if _hears() else ()
    before = {number: signal.signal(number, lambda number, frame: signals.append(number)) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        for first in signals[:1]:
            signal.raise_signal(first)
