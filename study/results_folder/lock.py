"""The lock by which only one study at a time writes into a results folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from reports.ledger.folders import LOCK
from reports.ledger.location import ResultsLocation, as_user_error
from reports.ledger.names import writable_path
from trainables.errors import UserError


@contextlib.contextmanager
def locked(location: ResultsLocation) -> Iterator[None]:
    """Keep other studies out of the results folder: two at once would run the same trials, and write the same files.

    The lock is the operating system's, so a study that was killed leaves the folder free. At a URL there is no lock.
    `UserError` if another study holds the lock.
    """
    if location.url is not None:  # the local folder is this process's own working copy
        yield
        return
    try:
        location.folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(writable_path(location.folder, LOCK), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise as_user_error(error, location.shown) from None
    try:
        _lock_or_refuse(handle, location.folder)
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
    except OSError as error:  # some shared file systems have no locks
        print(f"warning: {results} cannot be locked ({error.strerror}): start no second study there", flush=True)
    try:  # for the message above, in another study's process
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
    except OSError as error:
        raise as_user_error(error, results) from None
