"""Where a study's results are: a folder, or a URL with a working copy on this machine.

    place = open_location(text, default)
    place.bring()                  # nothing to do for a folder
    ...                            # read and write place.folder
    place.push("ledger/KEY.json")

All code reads and writes `place.folder`; only this module knows that there may be a URL behind it.
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
from reports.ledger.names import checked_name, to_write
from trainables.errors import UserError
from trainables.files import expanded, write_whole

if TYPE_CHECKING:
    from reports.ledger.storage import Entry, Storage

INCOMING = "incoming"
"""What workers are sending, and what senders that died left."""
LARGE = (MODELS, "train", "tune", "embeddings", "export", INCOMING)
"""Folders of the results that are brought and pushed only where one of their folders is asked for by name: models,
checkpoints, and what is of use on one machine alone (`tune` and `embeddings` are in older results)."""
STALE_SECONDS = 300.0
"""No process writes one small file for so long, so an older unfinished one is a dead process's."""
FOLLOW_SECONDS = 10.0
"""How often a reader who follows a running study looks for news of it."""
RECENT_SECONDS = 60.0
"""Times of files are too coarse to tell two versions apart that were written within this."""
_UNFINISHED = re.compile(r".+\.[0-9a-f]{8}\.tmp")


@dataclass(frozen=True)
class ResultsLocation:
    """A study's results. Made by `open_location`."""

    folder: Path
    """The results folder, or the working copy of `url`."""
    url: str | None = None
    _lock: FileLock | None = field(default=None, repr=False, compare=False)
    """Holds the working copy as long as this object lives."""
    _pushed: dict[str, tuple[int, int]] = field(default_factory=dict, repr=False, compare=False)
    """Time and size of each small file as it is at the URL."""

    @property
    def shown(self) -> str:
        """What a person is told."""
        return self.url or str(self.folder)

    def at(self, name: str) -> str:
        """What a person is told of a file or folder in it."""
        return f"{self.url.partition('?')[0].rstrip('/')}/{name}" if self.url else str(self.folder / name)

    def bring(self) -> None:
        """Make the working copy what the URL holds, without `LARGE` folders.

        The URL is the truth: what only the working copy has is what a killed process did not push, and is removed.
        `UserError` where the URL cannot be read, or holds something that is no study.
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
        """Bring the small files that others added meanwhile to a folder at the URL, such as `looks`; what is here
        stays as it is. `UserError` where the URL cannot be read."""
        if self.url is None:
            return
        with self._access("read"):
            entries = {file: entry for file, entry in self._storage.list(name).items() if not is_unfinished(file)}
            added = {file: entry for file, entry in entries.items() if entry and not (self.folder / file).exists()}
            self._storage.get_all({file: self.folder / file for file in added})
            for file, entry in added.items():
                self._note(file, entry)

    def push(self, name: str) -> None:
        """Copy a file or folder that was written here to the URL. `UserError` where that fails for good.

        A trial's record is pushed last, after its predictions and its model. A model that a worker sent straight to the
        URL is not here, and stays as it is.
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
        """Copy to the URL every small file that changed since it was brought or pushed, but no records: those are
        pushed one by one, after what they promise. `UserError` where that fails for good."""
        if self.url is None:
            return
        records = self.folder / LEDGER
        with self._access("written"):
            self._push([path for path in _small_files(self.folder) if records not in path.parents])

    def add(self, name: str, text: str) -> None:
        """Write a text file into a folder such as `models/KEY`, wherever that lies. `UserError` where that fails."""
        path = to_write(self.folder, name)
        with self._access("written"):
            if self.url is None or not _is_large(name) or path.parent.is_dir():
                write_whole(path, text)
            else:
                within, _, file = name.rpartition("/")
                self._storage.add(within, file, text.encode())

    def fetch(self, name: str) -> bool:
        """Bring a folder within a `LARGE` one, `models/KEY`, into the working copy. False where there is none."""
        path = self.folder / checked_name(name)
        if self.url is None:
            return path.is_dir()
        with self._access("read"):
            return self._storage.fetch(name, path)

    def follow(self) -> None:
        """From now on bring every few seconds, in a thread of its own, what a running study pushes. For readers."""
        if self.url is not None:
            threading.Thread(target=self._follow, daemon=True).start()

    def exists(self, name: str) -> bool:
        """Whether there is such a file or folder."""
        if self.url is None or not _is_large(name):
            return (self.folder / checked_name(name)).exists()
        with self._access("read"):
            return self._storage.has(name)

    def remove(self, name: str) -> None:
        """Remove a file or folder, if it is there."""
        path = to_write(self.folder, name)
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
        """Remove what writers that were killed left half written. Another study may be writing here right now, so only
        what is too old to be one of its files goes; the next start removes the rest."""
        for path in _small_files(self.folder, unfinished=True):
            with contextlib.suppress(FileNotFoundError):  # its writer renamed it meanwhile
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink()

    # --- below

    def _follow(self) -> None:
        while True:
            time.sleep(FOLLOW_SECONDS)
            try:
                self.bring()
            except UserError as error:  # the way there may be open again the next time
                print(f"{error}; trying again", file=sys.stderr, flush=True)

    @property
    def _storage(self) -> Storage:
        from reports.ledger.storage import storage

        assert self.url is not None
        return storage(self.url)

    def _list(self) -> dict[str, Entry]:
        """The small files at the URL. Records are listed first: what they promise is there before them."""
        top = self._storage.list(recursive=False)
        if top and STUDY not in top:
            raise UserError(f"{self.url} is not empty and holds no study; give another, or the one that a study wrote")
        entries = {name: entry for name, entry in top.items() if entry is not None}
        folders = [name for name, entry in top.items() if entry is None and name not in LARGE]
        for name in sorted(folders, key=lambda name: (name != LEDGER, name)):
            entries |= {file: entry for file, entry in self._storage.list(name).items() if entry is not None}
        return {name: entry for name, entry in entries.items() if not is_unfinished(name) and not _stays(name)}

    def _clear(self, entries: Container[str]) -> None:
        """Remove everything else from the working copy."""
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
        """Whether the file at the URL differs from the one here, as far as time and size tell."""
        path = self.folder / name
        if entry.changed is None or not path.is_file():
            return True
        state = path.stat()
        return (state.st_size, state.st_mtime) != (entry.size, entry.changed)

    def _note(self, name: str, entry: Entry) -> None:
        """The file here is now the one at the URL."""
        path = self.folder / name
        if not path.is_file():  # it was removed there since it was listed
            return
        if entry.changed is not None and time.time() - entry.changed > RECENT_SECONDS:
            os.utime(path, (entry.changed, entry.changed))
        self._pushed[name] = _state(path)

    def _push(self, paths: list[Path]) -> None:
        """Copy those that changed."""
        changed: dict[str, tuple[int, int]] = {}
        for path in paths:
            with contextlib.suppress(FileNotFoundError):  # it was removed meanwhile
                state = _state(path)  # before the copy: it may change meanwhile
                if self._pushed.get(self._name(path)) != state:
                    changed[self._name(path)] = state
        self._storage.put_all({name: self.folder / name for name in changed})
        self._pushed.update(changed)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    @contextlib.contextmanager
    def _access(self, done: str) -> Iterator[None]:
        """An error of the URL's, or of this machine's disk, as one sentence."""
        try:
            yield
        except OSError as error:
            if self.url is None:
                raise as_user_error(error, self.folder) from error
            raise UserError(f"the results at {self.url} cannot be {done}: {self._storage.why(error)}") from error


def open_location(text: str | Path | None, default: Path) -> ResultsLocation:
    """The place that a person named by `--results`; `default` where they named none.

    `UserError` for a URL that nothing here reads, a bucket that is not there, or no right to read it.
    """
    if text is None:
        return ResultsLocation(default)
    if not is_url(text):
        return ResultsLocation(expanded(text))
    url = str(text)
    try:
        parts = urlsplit(url)
    except ValueError:  # neither it nor the URL is repeated: a password may stand in them
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
    """Whether a person means a URL, not a folder."""
    return isinstance(text, str) and "://" in text


def as_user_error(error: OSError, where: str | Path) -> UserError:
    """The one sentence for results that cannot be written: a full disk, no right, a folder that went away."""
    why = error.strerror or str(error)
    mend = "make room there" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "mend that"
    return UserError(
        f"the results in {where} cannot be written: {why}; {mend} and run the same command again, or begin anew in "
        "another folder with --results"
    )


def _working_copy(url: str) -> tuple[Path, FileLock]:
    """A folder of this process alone, in the user's cache; on Linux XDG_CACHE_HOME moves it.

    The next process with this URL takes it again and fetches only what differs; two at once have a folder each. The
    lock is the operating system's, so a killed process leaves a free folder.
    """
    caches = platformdirs.user_cache_path("sentence-embedding-studies", appauthor=False) / "results"
    digest = hashlib.sha256(url.encode()).hexdigest()[:16]
    try:
        caches.mkdir(parents=True, exist_ok=True)
        for number in itertools.count():
            lock = FileLock(caches / f"{digest}-{number}.lock", blocking=False)
            with contextlib.suppress(Timeout):  # another process has this one
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
    return name.split("/")[0] in LARGE


def is_unfinished(name: str) -> bool:
    """Whether a file's writer has not finished it, or was killed."""
    return _UNFINISHED.fullmatch(name) is not None


def _stays(name: str) -> bool:
    """Whether a file is of this machine alone: a lock that came from another one would never be opened."""
    return name.endswith(".lock")


def _small_files(folder: Path, unfinished: bool = False) -> Iterator[Path]:
    """Those below a results folder or one of its own, without `LARGE` ones; or those that no writer has finished."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if Path(root) != folder or name not in LARGE)
        for name in sorted(files):
            path = Path(root) / name
            if is_unfinished(name) == unfinished and not _stays(name) and not path.is_symlink():
                yield path


def _state(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_mtime_ns, state.st_size
