"""Where a study's results are: in a folder, or at a URL with a working copy on this machine.

    location = open_location(text, default)
    location.pull()                # nothing to do for a folder
    ...                            # read and write location.folder
    location.push("ledger/KEY.json")

All other code reads and writes `location.folder`. Only this module handles URLs.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import platformdirs
from filelock import FileLock, Timeout

from reports.ledger import LEDGER, MODELS, STUDY
from reports.ledger.names import checked_name, writable_path
from trainables.errors import UserError
from trainables.files import expanded, write_whole

if TYPE_CHECKING:
    from reports.ledger.storage import Entry, Storage

INCOMING = "incoming"
"""The folder for files that workers are sending, and for leftovers of workers that died."""
LARGE_FOLDERS = (MODELS, "train", "tune", "embeddings", "export", INCOMING)
"""Folders of the results that are copied only if one of their subfolders is requested by name: models, checkpoints, and
files of use on one machine only (`tune` and `embeddings` are in older results)."""
STALE_SECONDS = 300.0
"""An unfinished file older than this is a leftover of a dead process: writing a small file never takes so long."""
FOLLOW_SECONDS = 10.0
"""Seconds between two updates of the working copy for a reader who follows a running study."""
RECENT_SECONDS = 60.0
"""Two versions of a file that were written within this many seconds may have the same time and look equal."""
_UNFINISHED = re.compile(r".+\.[0-9a-f]{8}\.tmp")


@dataclass(frozen=True)
class ResultsLocation:
    """Where a study's results are, with the methods to copy them. Made by `open_location`."""

    folder: Path
    """The results folder, or the working copy of `url`."""
    url: str | None = None
    _lock: FileLock | None = field(default=None, repr=False, compare=False)
    """Lock of the working copy, held while this object exists."""
    _pushed: dict[str, tuple[int, int]] = field(default_factory=dict, repr=False, compare=False)
    """Maps each small file to its time and size when it was last equal to the file at the URL."""

    @property
    def shown(self) -> str:
        """The folder or URL, as messages name it."""
        return self.url or str(self.folder)

    def address_of(self, name: str) -> str:
        """The path or URL of a file or folder in the results, for messages."""
        return f"{self.url.partition('?')[0].rstrip('/')}/{name}" if self.url else str(self.folder / name)

    def pull(self) -> None:
        """Make the working copy equal to the URL's content, without `LARGE_FOLDERS`.

        Files that only the working copy has are removed: they are from a process that was killed before it copied them.
        Raise `UserError` if the URL cannot be read, or if it is not empty and holds no study.
        """
        if self.url is None:
            return
        with self._access("read"):
            entries = self._list()
            self._clear(entries)
            self._storage.get_all(
                {name: self.folder / name for name, entry in entries.items() if self._lacks(name, entry)}
            )
            for name, entry in entries.items():
                self._note(name, entry)

    def renew(self, name: str) -> None:
        """Copy those small files of a folder at the URL, such as `looks`, that the working copy does not have. Existing
        files stay unchanged. Raise `UserError` if the URL cannot be read."""
        if self.url is None:
            return
        with self._access("read"):
            entries = {file: entry for file, entry in self._storage.list(name).items() if not is_unfinished(file)}
            added = {file: entry for file, entry in entries.items() if entry and not (self.folder / file).exists()}
            self._storage.get_all({file: self.folder / file for file in added})
            for file, entry in added.items():
                self._note(file, entry)

    def push(self, name: str) -> None:
        """Copy a file or folder from the working copy to the URL. Raise `UserError` if all attempts fail.

        Push a trial's record last, after its predictions and its model. A model that a worker sent directly to the URL
        is not in the working copy and stays unchanged.
        """
        if self.url is None:
            return
        path = self.folder / checked_name(name)
        with self._access("written"):
            if not _is_large(name):
                self._push(list(_small_files(path)) if path.is_dir() else [path])
            elif path.is_dir():
                self._storage.send(path, name)

    def push_changed(self) -> None:
        """Copy every small file that changed since it was copied from or to the URL. Records are left out: each is
        pushed after the files that it names. Raise `UserError` if all attempts fail."""
        if self.url is None:
            return
        records = self.folder / LEDGER
        with self._access("written"):
            self._push([path for path in _small_files(self.folder) if records not in path.parents])

    def add(self, name: str, text: str) -> None:
        """Write a text file into a folder such as `models/KEY`, local or at the URL. Raise `UserError` on failure."""
        path = writable_path(self.folder, name)
        with self._access("written"):
            if self.url is None or not _is_large(name) or path.parent.is_dir():
                write_whole(path, text)
            else:
                within, _, file = name.rpartition("/")
                self._storage.add(within, file, text.encode())

    def fetch(self, name: str) -> bool:
        """Copy a folder such as `models/KEY` (see `LARGE_FOLDERS`) from the URL. Return False if it does not exist."""
        path = self.folder / checked_name(name)
        if self.url is None:
            return path.is_dir()
        with self._access("read"):
            return self._storage.fetch(name, path)

    def follow(self) -> None:
        """For readers: start a thread that updates the working copy every few seconds from a running study."""
        if self.url is not None:
            threading.Thread(target=self._follow, daemon=True).start()

    def exists(self, name: str) -> bool:
        """Return whether this file or folder exists in the results."""
        if self.url is None or not _is_large(name):
            return (self.folder / checked_name(name)).exists()
        with self._access("read"):
            return self._storage.has(name)

    def remove(self, name: str) -> None:
        """Remove a file or folder, if it exists, from the working copy and the URL."""
        path = writable_path(self.folder, name)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        if self.url is not None:
            self._pushed.pop(name, None)
            with self._access("written"):
                if _is_large(name):
                    self._storage.remove(name)
                else:
                    self._storage.delete(name)

    def sweep(self) -> None:
        """Remove half-written files of writers that were killed. Another study may be writing to the folder, so only
        files older than `STALE_SECONDS` are removed; the next start removes the rest."""
        for path in _small_files(self.folder, unfinished=True):
            with contextlib.suppress(FileNotFoundError):  # its writer renamed it in the meantime
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink()

    # --- private

    def _follow(self) -> None:
        while True:
            time.sleep(FOLLOW_SECONDS)
            try:
                self.pull()
            except UserError as error:  # the URL may be readable at the next attempt
                print(f"{error}; trying again", file=sys.stderr, flush=True)

    @property
    def _storage(self) -> Storage:
        from reports.ledger.storage import storage

        assert self.url is not None
        return storage(self.url)

    def _list(self) -> dict[str, Entry]:
        """Return the small files at the URL. Records are listed first, so that every file they name exists already."""
        top = self._storage.list(recursive=False)
        if top and STUDY not in top:
            raise UserError(f"{self.url} is not empty and holds no study; give another, or the one that a study wrote")
        entries = {name: entry for name, entry in top.items() if entry is not None}
        folders = [name for name, entry in top.items() if entry is None and name not in LARGE_FOLDERS]
        for name in sorted(folders, key=lambda name: (name != LEDGER, name)):
            entries |= {file: entry for file, entry in self._storage.list(name).items() if entry is not None}
        return {name: entry for name, entry in entries.items() if not is_unfinished(name) and not _stays(name)}

    def _clear(self, entries: Container[str]) -> None:
        """Remove from the working copy all empty folders, and all files that are not in `entries`."""
        self._pushed.clear()
        for root, folders, files in os.walk(self.folder, topdown=False):
            for name in files:
                if self._name(Path(root, name)) not in entries:
                    Path(root, name).unlink(missing_ok=True)
            for name in folders:
                path = Path(root, name)
                if path.is_symlink():
                    path.unlink()
                elif not any(path.iterdir()):
                    path.rmdir()

    def _lacks(self, name: str, entry: Entry) -> bool:
        """Return whether the file at the URL differs from the one in the working copy, judged by time and size."""
        path = self.folder / name
        if entry.changed is None or not path.is_file():
            return True
        state = path.stat()
        return (state.st_size, state.st_mtime) != (entry.size, entry.changed)

    def _note(self, name: str, entry: Entry) -> None:
        """Record that the file in the working copy now equals the one at the URL."""
        path = self.folder / name
        if not path.is_file():  # it was removed from the URL after the listing
            return
        if entry.changed is not None and time.time() - entry.changed > RECENT_SECONDS:
            os.utime(path, (entry.changed, entry.changed))
        self._pushed[name] = _state(path)

    def _push(self, paths: list[Path]) -> None:
        """Copy to the URL those of these files that changed since they were last copied."""
        changed: dict[str, tuple[int, int]] = {}
        for path in paths:
            with contextlib.suppress(FileNotFoundError):  # it was removed in the meantime
                state = _state(path)  # before the copy, as the file may change during it
                if self._pushed.get(self._name(path)) != state:
                    changed[self._name(path)] = state
        self._storage.put_all({name: self.folder / name for name in changed})
        self._pushed.update(changed)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    @contextlib.contextmanager
    def _access(self, done: str) -> Iterator[None]:
        """Turn an error of the URL or this machine's disk into a `UserError` that a file or folder cannot be `done`."""
        try:
            yield
        except OSError as error:
            if self.url is None:
                raise as_user_error(error, self.folder) from error
            raise UserError(f"the results at {self.url} cannot be {done}: {self._storage.explain(error)}") from error


def open_location(text: str | Path | None, default: Path) -> ResultsLocation:
    """Return where the results are that the user named by `--results`; at `default` if `text` is None. Raise
    `UserError` for a URL of an unsupported kind, a missing bucket, or missing rights to read it."""
    if text is None:
        return ResultsLocation(default)
    if not is_url(text):
        return ResultsLocation(expanded(text))
    url = str(text)
    try:
        parts = urlsplit(url)
    except ValueError:  # print neither the error nor the URL: they may contain a password
        raise UserError(
            f"{url.partition(':')[0]}://... is no URL; give a folder, or a URL such as s3://BUCKET/FOLDER"
        ) from None
    if parts.scheme in ("file", "local"):
        if parts.netloc not in ("", "localhost"):
            raise UserError(f"{url} names the machine {parts.netloc!r}; a folder of this one is file:///FOLDER")
        return ResultsLocation(Path(unquote(parts.path)))
    if parts.password is not None:
        raise UserError(
            f"the URL at {parts.hostname} holds a password, and study.json keeps the command line; give it by the "
            "environment, for s3 as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    if ".." in parts.path.split("/"):
        raise UserError(f"{url} goes up by '..'; name the folder itself")
    from reports.ledger.storage import storage

    storage(url).check()
    folder, lock = _working_copy(url)
    return ResultsLocation(folder, url, lock)


def is_url(text: str | Path) -> bool:
    """Return whether this value of `--results` is a URL, not a folder."""
    return isinstance(text, str) and "://" in text


def as_user_error(error: OSError, where: str | Path) -> UserError:
    """Return the message for results that cannot be written: a full disk, missing rights, a folder that was removed."""
    why = error.strerror or str(error)
    mend = "make room there" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "mend that"
    return UserError(
        f"the results in {where} cannot be written: {why}; {mend} and run the same command again, or begin anew in "
        "another folder with --results"
    )


def _working_copy(url: str) -> tuple[Path, FileLock]:
    """Return a folder in the user's cache that this process alone uses, and the folder's lock.

    On Linux XDG_CACHE_HOME moves the cache. The next process with this URL reuses the folder and copies only
    differences. Two processes at once get two folders. The operating system holds the lock, so a killed process leaves
    the folder free.
    """
    caches = platformdirs.user_cache_path("sentence-embedding-studies", appauthor=False) / "results"
    digest = hashlib.sha256(url.encode()).hexdigest()[:16]
    try:
        caches.mkdir(parents=True, exist_ok=True)
        for number in itertools.count():
            lock = FileLock(caches / f"{digest}-{number}.lock", blocking=False)
            with contextlib.suppress(Timeout):  # another process uses this folder
                lock.acquire()
                folder = caches / f"{digest}-{number}" / (Path(urlsplit(url).path).name or "results")
                folder.mkdir(parents=True, exist_ok=True)
                return folder, lock
    except OSError as error:
        why = error.strerror or error
        raise UserError(
            f"{caches}, where the working copy of {url} would lie, cannot be written: {why}; set XDG_CACHE_HOME to "
            "another folder"
        ) from None
    raise AssertionError("numbers do not end")


def _is_large(name: str) -> bool:
    return name.split("/")[0] in LARGE_FOLDERS


def is_unfinished(name: str) -> bool:
    """Return whether this file is unfinished: still being written, or left by a killed writer."""
    return _UNFINISHED.fullmatch(name) is not None


def _stays(name: str) -> bool:
    """Return whether a file is never copied from or to a URL: a lock from another machine would never be released."""
    return name.endswith(".lock")


def _small_files(folder: Path, unfinished: bool = False) -> Iterator[Path]:
    """Yield the files below a folder, without links, locks and `LARGE_FOLDERS`. If `unfinished`, yield only unfinished
    files."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if Path(root) != folder or name not in LARGE_FOLDERS)
        for name in sorted(files):
            path = Path(root) / name
            if is_unfinished(name) == unfinished and not _stays(name) and not path.is_symlink():
                yield path


def _state(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_mtime_ns, state.st_size
