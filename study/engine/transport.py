"""Transport of large data between workers and the results folder: checkpoints and models."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import ray
from ray import ObjectRef
from ray.actor import ActorHandle

from reports.ledger.location import INCOMING, STALE_SECONDS
from reports.ledger.names import checked_name, writable_path
from reports.ledger.storage import fetch_whole, files_of, storage
from trainables.files import make_folder

PIECE = 16 * 2**20
"""Bytes per call through the coordinator. Large enough that the cost of a call does not matter, small enough that other
calls need not wait long."""
AHEAD = 4
"""Number of pieces that are in transit at once."""
IN_MEMORY = ("memory",)
"""URL schemes that only the study's own process can reach."""


class Transport(Protocol):
    """Copies whole folders. Names are relative to the results, with slashes: `models/KEY`. Must be picklable."""

    def send(self, folder: Path, name: str) -> None:
        """Copy a local folder to that name, and replace what is there. A reader sees all of the old or all of the new
        version. On return the copy survives this process; `OSError` if it cannot be written."""

    def fetch(self, name: str, folder: Path) -> bool:
        """Copy the folder of that name into a local folder; False if there is none."""

    def remove(self, name: str) -> None:
        """Remove the folder of that name if it exists."""


def transport_for(url: str | None, coordinator: ActorHandle) -> Transport:
    """Return a transport to a URL that every machine reaches. Without such a URL, the transport goes through the
    coordinator to the study's machine.

    `url`: the study's `ResultsLocation.url`. `coordinator`: the actor that has the methods of `Deliveries`.
    """
    return CoordinatorTransport(coordinator) if url is None or urlsplit(url).scheme in IN_MEMORY else storage(url)


@dataclass(frozen=True)
class CoordinatorTransport:
    """Copies folders in pieces through the coordinator, so that workers need no shared disk with the study."""

    coordinator: ActorHandle

    def send(self, folder: Path, name: str) -> None:
        files = files_of(folder)
        sizes = {file: path.stat().st_size for file, path in files.items()}
        delivery = uuid.uuid4().hex

        def pieces() -> Iterator[ObjectRef]:
            for file, path in files.items():
                with open(path, "rb") as source:
                    for offset in range(0, sizes[file], PIECE) or [0]:  # an empty file is one empty piece
                        yield self.coordinator.put_piece.remote(delivery, file, offset, source.read(PIECE))

        for _ in _answers(pieces()):
            pass
        _ask(self.coordinator.commit.remote(name, delivery, sizes))

    def fetch(self, name: str, folder: Path) -> bool:
        def get(listing: Mapping[str, tuple[int, int]], part: Path) -> bool:
            self._fetch(name, listing, part)
            return True

        torn = f"{name} is replaced faster than it can be fetched"
        return fetch_whole(folder, lambda: _ask(self.coordinator.listing.remote(name)), get, torn)

    def remove(self, name: str) -> None:
        _ask(self.coordinator.remove.remote(name))

    def _fetch(self, name: str, listing: Mapping[str, tuple[int, int]], folder: Path) -> None:
        pieces = [(file, offset) for file, (size, _) in listing.items() for offset in range(0, size, PIECE) or [0]]
        calls = (self.coordinator.piece.remote(name, file, offset, PIECE) for file, offset in pieces)
        for (file, _), data in zip(pieces, _answers(calls), strict=True):
            target = folder / checked_name(file)
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(target, "ab") as sink:
                sink.write(data)


class Deliveries:
    """The coordinator's side of `CoordinatorTransport`: short methods on the machine of the results folder. They may
    run in several threads.

    Names that would leave the folder raise `UserError`; errors of the disk are `OSError`.
    """

    def __init__(self, folder: Path) -> None:
        """`folder`: the results folder. A delivery is a folder that is being sent. Unfinished deliveries of an earlier
        study are removed."""
        self.folder = folder
        self._incoming = writable_path(folder, INCOMING)
        self._sweep()

    def put_piece(self, delivery: str, file: str, offset: int, data: bytes) -> None:
        """Store a piece of a file of a delivery. Pieces may arrive in any order."""
        path = writable_path(self._incoming, f"{delivery}/{file}")
        make_folder(path.parent)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
        with open(handle, "wb") as sink:
            sink.seek(offset)
            sink.write(data)
            sink.flush()
            os.fsync(sink.fileno())

    def commit(self, name: str, delivery: str, sizes: Mapping[str, int]) -> None:
        """Make a complete delivery the folder of that name. `sizes`: bytes per file; `OSError` if files are missing."""
        part, target = writable_path(self._incoming, delivery), writable_path(self.folder, name)
        make_folder(part)  # a delivery without files has no pieces
        if {file: size for file, (size, _) in _sizes(part).items()} != dict(sizes):
            shutil.rmtree(part)
            raise OSError(f"the delivery of {name} is not complete")
        for path in part.rglob("*"):
            if path.is_dir():
                _sync(path)
        old = _before(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            shutil.rmtree(old, ignore_errors=True)
            target.rename(old)  # until the next line, and after a crash here, a reader finds the old version
        part.rename(target)
        _sync(target.parent)
        shutil.rmtree(old, ignore_errors=True)
        self._sweep()

    def listing(self, name: str) -> dict[str, tuple[int, int]] | None:
        """Return the size and the modification time of every file in a folder; None if there is no such folder."""
        folder = self._existing(name)
        return _sizes(folder) if folder.is_dir() else None

    def piece(self, name: str, file: str, offset: int, size: int) -> bytes:
        """Return a piece of a file, shorter at the file's end. `FileNotFoundError` if there is no such file."""
        with open(self._existing(name) / checked_name(file), "rb") as source:
            source.seek(offset)
            return source.read(size)

    def remove(self, name: str) -> None:
        """Remove a folder if it exists."""
        target = writable_path(self.folder, name)
        shutil.rmtree(_before(target), ignore_errors=True)
        shutil.rmtree(target, ignore_errors=True)

    def _sweep(self) -> None:
        """Remove deliveries of dead senders. Living senders, also of another study in this folder, write more often."""
        names: list[str] = []
        with contextlib.suppress(FileNotFoundError):  # there are no deliveries
            names = os.listdir(self._incoming)
        for delivery in map(self._incoming.joinpath, names):
            with contextlib.suppress(FileNotFoundError):  # it was committed meanwhile
                if time.time() - _last_change(delivery) > STALE_SECONDS:
                    shutil.rmtree(delivery, ignore_errors=True)
        with contextlib.suppress(OSError):  # the folder is missing, or has other deliveries
            self._incoming.rmdir()

    def _existing(self, name: str) -> Path:
        target = self.folder / checked_name(name)
        return target if target.is_dir() else _before(target)


def _before(target: Path) -> Path:
    """Return where the old version is kept while it is replaced."""
    return target.with_name(f"{target.name}.old")


def _sizes(folder: Path) -> dict[str, tuple[int, int]]:
    return {name: (path.stat().st_size, path.stat().st_mtime_ns) for name, path in files_of(folder).items()}


def _last_change(folder: Path) -> float:
    return max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))


def _sync(path: Path) -> None:
    """Sync a folder's entries to disk."""
    with contextlib.suppress(OSError):  # some shared file systems cannot sync a folder
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _answers(calls: Iterator[ObjectRef]) -> Iterator[Any]:
    """Yield the results of remote calls in the order of the calls, with `AHEAD` calls in progress."""
    waiting = list(itertools.islice(calls, AHEAD))
    while waiting:
        yield _ask(waiting.pop(0))
        waiting.extend(itertools.islice(calls, 1))


def _ask(call: ObjectRef) -> Any:
    """Return the result of a remote call, or raise its original error."""
    try:
        return ray.get(call)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
