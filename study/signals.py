"""Signals that end a study: ctrl-C, and SIGTERM, which every cluster manager sends before it kills.

Both raise `KeyboardInterrupt`, from the command's first line to its last; `exit_code_of` turns it into an exit code.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_terminated = threading.Event()


def exit_code_of(command: Callable[[], int]) -> int:
    """Run a command, and return its exit code: 143 if SIGTERM stopped it, 130 if ctrl-C did.

    Afterwards the earlier handler of SIGTERM is back, for callers such as a notebook.
    """
    if not _in_main_thread():
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


def exit_at_signals(code: int) -> None:
    """Make signals end the process at once with this exit code: nothing is left but the end of the process."""
    for number in SIGNALS:
        signal.signal(number, lambda *_: os._exit(code))


def _in_main_thread() -> bool:
    """Whether this is the main thread, the only one that receives signals."""
    return threading.current_thread() is threading.main_thread()


def restore_sigterm() -> None:
    """Restore Python's handler of SIGTERM. Ray's core replaces it, unnoticed by Python, whenever it starts or joins a
    cluster, and would abort the process three seconds after the signal."""
    if _in_main_thread():
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM) or signal.SIG_DFL)


def _stop(number: int, frame: object) -> None:
    _terminated.set()
    raise KeyboardInterrupt


def ignore_sigterm() -> None:
    """Ignore SIGTERM from now on; a second ctrl-C still ends the command at once."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Delay signals that arrive within the block until its end."""
    signals: list[int] = []
    heard = SIGNALS if _in_main_thread() else ()
    before = {number: signal.signal(number, lambda number, frame: signals.append(number)) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        for first in signals[:1]:
            signal.raise_signal(first)
