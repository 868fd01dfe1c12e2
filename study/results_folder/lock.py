"""One study at a time writes into a results folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from reports.ledger.folders import LOCK
from reports.ledger.location import ResultsLocation, as_user_error
from reports.ledger.names import to_write
from trainables.errors import UserError


@contextlib.contextmanager
def locked(place: ResultsLocation) -> Iterator[None]:
    """Keep other studies out of the results folder: two at once would run the same trials, and write the same files.

    The lock is the operating system's, so one that was killed leaves the folder free. It does not reach a URL.
    `UserError` where another study has it.
    """
    if place.url is not None:  # what is locked here is this process's own working copy
        yield
        return
    try:
        place.folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(to_write(place.folder, LOCK), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise as_user_error(error, place.shown) from None
    try:
        _lock_or_refuse(handle, place.folder)
        yield
    finally:
        os.close(handle)


def _lock_or_refuse(handle: int, results: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(handle, 200, 0).decode(errors="replace") or "it does not say which"
        raise UserError(
            f"another study writes into {results} now ({holder}); wait until it has ended, or give this one its own "
            "folder with --results"
        ) from None
    except OSError as error:  # some shared file systems lock nothing
        print(f"warning: {results} cannot be locked ({error.strerror}): start no second study there", flush=True)
    try:  # for the sentence above
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
    except OSError as error:
        raise as_user_error(error, results) from None
