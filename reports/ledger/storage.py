"""Files at a URL: `s3://`, `gs://` and `abfs://` read by pyarrow itself, all other kinds of URL by fsspec.

The import is slow, so `reports.ledger.location` imports this module only for a URL.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import fsspec
from pyarrow import fs

from reports.ledger.names import checked_name
from trainables.errors import UserError

ARROW_SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
"""Schemes that pyarrow reads without a further package."""
GS_LIMIT, GS_SECONDS = "retry_limit_seconds", 10
"""The setting for how long pyarrow retries at Google's storage, and its value in seconds. The default is 15 minutes."""
ATOMIC_STORAGE = ("s3", "gcs", "abfs")
"""Kinds of storage in which a written file appears only once it is complete."""
PAUSES = (1.0, 4.0, 16.0)
"""Seconds to wait before each further attempt. Within each attempt pyarrow itself retries for some seconds."""
ATTEMPTS = 3
"""How often the copy of a folder is tried if a writer replaces the folder during the copy."""
THREADS = 16
"""Number of files that are copied at once. Most files are small, so a copy is mostly waiting."""
PERMANENT_ERRORS = (
    *("ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "EXPIRED_TOKEN", "NO_SUCH_BUCKET"),
    *(
        "PERMISSION_DENIED",
        "UNAUTHENTICATED",
        "OAuth2 access token",
        "AuthorizationFailure",
        "HTTP response code 403",
        "forbidden",
    ),
)
"""Words in the messages of errors that a further attempt cannot solve."""
CREDENTIALS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a role that may use it",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS, or give this machine a service account that may use it",
}
T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """A file in the listing of a folder at a URL."""

    size: int
    changed: float | None
    """When the file was last changed, in seconds since 1970; None if the storage does not report it."""


class Storage:
    """A folder at a URL. Names of files are relative to it, with slashes. Methods raise `OSError` if all attempts fail.

    Only the URL is pickled, so every machine needs the same rights. This class replaces whole folders itself: copies by
    fsspec and pyarrow overwrite the old folder, and a reader would see half of each version.
    """

    def __init__(self, url: str) -> None:
        """Open the folder at `url`. Raise `UserError` if no library reads such a URL."""
        self.url = url
        self.scheme = urlsplit(url).scheme
        self.files, self.root = _open(url)

    def __reduce__(self) -> tuple[Callable[[str], Storage], tuple[str]]:
        return storage, (self.url,)

    def check(self) -> None:
        """Raise `UserError` if the URL cannot be read (no bucket, no right, no answer). The folder may be missing."""
        if not self.root.strip("/"):
            raise UserError(f"{self.url} names no bucket or folder; give one such as {self.scheme}://BUCKET/FOLDER")
        bucket = self.root.strip("/").split("/")[0]
        try:
            kind = self.files.get_file_info([self.root])[0].type
            missing = kind == fs.FileType.NotFound and self.scheme in ("s3", "gs", "gcs", "abfs", "abfss")
            if missing and self.files.get_file_info([bucket])[0].type == fs.FileType.NotFound:
                raise UserError(f"{self.url}: there is no bucket {bucket!r}; make it first, or name another")
        except Exception as error:  # any error of the library that reads the URL
            if isinstance(error, UserError):
                raise
            raise UserError(f"{self.url} cannot be read: {self.explain(error)}") from None
        if kind == fs.FileType.File:
            raise UserError(f"{self.url} is a file; name a folder")

    def explain(self, error: Exception) -> str:
        """Return what went wrong in an error of the storage, in one line, with advice if there is any."""
        text = (
            str(error).partition("(Request ID")[0].partition(" error_info=")[0].removeprefix("google::cloud::Status(")
        )
        text = " ".join(text.split()).rstrip(". ")[:300] or type(error).__name__
        if "NO_SUCH_BUCKET" in text:
            return f"there is no bucket {self.root.strip('/').split('/')[0]!r}"
        if _is_permanent(error) and self.scheme in CREDENTIALS:
            return f"access is denied; {CREDENTIALS[self.scheme]} ({text})"
        return text

    def list(self, name: str = "", recursive: bool = True) -> dict[str, Entry | None]:
        """Return the files below a folder by name; if not `recursive`, its folders too, as None. Empty without one."""
        selector = fs.FileSelector(self._path(name) if name else self.root, True, recursive)
        entries: dict[str, Entry | None] = {}
        for info in self._try(lambda: self.files.get_file_info(selector)):
            relative = info.path.strip("/")[len(self.root.strip("/")) + 1 :]
            if info.type == fs.FileType.File:
                changed = None if info.mtime_ns is None else info.mtime_ns / 1e9
                entries[checked_name(relative)] = Entry(info.size, changed)
            elif not recursive and relative:
                entries[checked_name(relative)] = None
        return entries

    def read(self, name: str) -> bytes | None:
        """Return the content of a small file; None if the file does not exist."""

        def read() -> bytes:
            with self.files.open_input_stream(self._path(name)) as stream:
                return bytes(stream.read())

        try:
            return self._try(read)
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Write a small file, completely or not at all."""

        def write(target: str) -> None:
            with self.files.open_output_stream(target) as stream:
                stream.write(content)

        self._try(lambda: self._whole(self._path(name), write))

    def put(self, path: Path, name: str) -> None:
        """Copy a local file to the URL, completely or not at all."""
        self._try(lambda: self._whole(self._path(name), lambda target: _copy(_LOCAL, str(path), self.files, target)))

    def get(self, name: str, path: Path) -> None:
        """Copy a file from the URL, completely or not at all. Raise `FileNotFoundError` if it does not exist."""
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.tmp")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._try(lambda: _copy(self.files, self._path(name), _LOCAL, str(part)))
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)

    def put_all(self, files: Mapping[str, Path]) -> None:
        """Copy local files to the URL, several at once, in no order. Files that vanish in the meantime are skipped."""

        def put(name: str) -> None:
            try:
                self.put(files[name], name)
            except FileNotFoundError:
                if files[name].exists():
                    raise

        _at_once(put, files)

    def get_all(self, files: Mapping[str, Path]) -> None:
        """Copy files from the URL, several at once. Files that vanish in the meantime are skipped."""

        def get(name: str) -> None:
            with contextlib.suppress(FileNotFoundError):
                self.get(name, files[name])

        _at_once(get, files)

    def delete(self, name: str) -> None:
        """Delete a file, or a folder with all of its content, if it exists."""
        path = self._path(name)

        def delete() -> None:
            kind = self.files.get_file_info([path])[0].type
            if kind == fs.FileType.Directory:
                self.files.delete_dir(path)
            elif kind == fs.FileType.File:
                self.files.delete_file(path)

        with contextlib.suppress(FileNotFoundError):  # somebody else deleted it in the meantime
            self._try(delete)

    # --- whole folders

    # An object storage cannot rename folders. So a listing, NAME.json, is written last. It names the location of the
    # files: NAME itself, or NAME.other if NAME has the previous version.

    def send(self, folder: Path, name: str) -> None:
        """Copy a local folder to the URL. A reader by `fetch` gets either the whole old or the whole new version."""
        before = self._listing(name)
        location = f"{name}.other" if before and before["place"] == name else name
        self.delete(location)
        files = files_of(folder)
        self.put_all({f"{location}/{file}": path for file, path in files.items()})
        self._write_listing(name, location, {file: path.stat().st_size for file, path in files.items()})
        if before:
            self.delete(before["place"])

    def add(self, name: str, file: str, content: bytes) -> None:
        """Add or replace a file in a folder that `send` wrote. Raise `FileNotFoundError` if there is no such folder."""
        listing = self._listing(name)
        if listing is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), f"{self.url}: {name}")
        self.write(f"{listing['place']}/{file}", content)
        self._write_listing(name, listing["place"], {**listing["files"], file: len(content)})

    def fetch(self, name: str, folder: Path) -> bool:
        """Copy a folder that `send` wrote, in place of the local one. Return False if the URL has no such folder."""

        def get(listing: dict[str, Any], part: Path) -> bool:
            self.get_all({f"{listing['place']}/{file}": part / checked_name(file) for file in listing["files"]})
            return all((part / file).stat().st_size == size for file, size in listing["files"].items())

        torn = f"{self.url}: the files of {name} are not those of its listing {name}.json"
        return fetch_whole(folder, lambda: self._listing(name), get, torn)

    def remove(self, name: str) -> None:
        """Remove a folder that `send` wrote, if it exists."""
        for part in (f"{name}.json", name, f"{name}.other"):  # without its listing the folder is gone for readers
            self.delete(part)

    def has(self, name: str) -> bool:
        """Return whether there is a folder that `send` wrote."""
        return self._listing(name) is not None

    def _write_listing(self, name: str, location: str, sizes: Mapping[str, int]) -> None:
        listing = {"place": location, "version": uuid.uuid4().hex, "files": dict(sizes)}
        self.write(f"{name}.json", json.dumps(listing, indent=1).encode())

    def _listing(self, name: str) -> dict[str, Any] | None:
        content = self.read(f"{name}.json")
        if content is None:
            return None
        listing: dict[str, Any] = json.loads(content)
        return listing

    # --- private

    def _path(self, name: str) -> str:
        return f"{self.root}/{checked_name(name)}"

    def _whole(self, target: str, write: Callable[[str], None]) -> None:
        """Write a file under a temporary name and move it, unless the storage itself shows only complete files."""
        if self.files.type_name in ATOMIC_STORAGE:
            write(target)
            return
        part = f"{target}.{uuid.uuid4().hex[:8]}.tmp"
        self.files.create_dir(target.rpartition("/")[0])
        write(part)
        self.files.move(part, target)

    def _try(self, action: Callable[[], T]) -> T:
        """Run the action, with several attempts, and return its result. Raise `OSError` if all attempts fail."""
        for pause in (*PAUSES, None):
            try:
                return action()
            except (FileNotFoundError, UserError):
                raise
            except Exception as error:  # each library has its own errors
                if pause is None or _is_permanent(error):
                    if isinstance(error, OSError):
                        raise
                    raise OSError(f"{type(error).__name__}: {error}") from error
                time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")


_LOCAL = fs.LocalFileSystem()


def _copy(source: Any, path: str, target: Any, name: str) -> None:
    # Arrow's own copy aborts an upload that fails; a Python stream would complete it with the bytes so far.
    fs.copy_files(path, name, source_filesystem=source, destination_filesystem=target, use_threads=False)


def _open(url: str) -> tuple[Any, str]:
    scheme = urlsplit(url).scheme
    try:
        if scheme in ("gs", "gcs") and GS_LIMIT not in url:
            url += f"{'&' if '?' in url else '?'}{GS_LIMIT}={GS_SECONDS}"
        if scheme in ARROW_SCHEMES:
            files, root = fs.FileSystem.from_uri(url)
        else:
            other, root = fsspec.core.url_to_fs(url, use_listings_cache=False)
            files = fs.PyFileSystem(fs.FSSpecHandler(other))
    except (ValueError, ImportError, OSError) as error:
        why = " ".join(str(error).partition("\n")[0].split()) or type(error).__name__
        raise UserError(f"{url} cannot be opened: {why}; give a folder, or a URL such as s3://BUCKET/FOLDER") from None
    return files, root.rstrip("/")


def _is_permanent(error: Exception) -> bool:
    """Return whether the error would also end every further attempt."""
    if isinstance(error, NotImplementedError | ValueError):
        return True
    codes = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
    return getattr(error, "errno", None) in codes or any(word in str(error) for word in PERMANENT_ERRORS)


def _at_once(action: Callable[[str], None], names: Iterable[str]) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in pool.map(action, names):
            pass


def files_of(folder: Path) -> dict[str, Path]:
    """Return every file below a local folder, by its name relative to the folder."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def fetch_whole(folder: Path, listing: Callable[[], T | None], get: Callable[[T, Path], bool], torn: str) -> bool:
    """Copy the files that a listing names into a local folder, all of one version. Return False if there is no listing.

    `get` copies the files into an empty folder and returns whether all are complete. If a newer version replaces them
    during the copy, it is repeated, up to `ATTEMPTS` times in all; then `OSError` with the message `torn` is raised.
    """
    for _ in range(ATTEMPTS):
        files = listing()
        if files is None:
            return False
        part = folder.with_name(f"{folder.name}.{uuid.uuid4().hex[:8]}.part")
        try:
            part.mkdir(parents=True)
            if get(files, part) and listing() == files:
                shutil.rmtree(folder, ignore_errors=True)
                part.rename(folder)
                return True
        except FileNotFoundError:
            pass  # a newer version has replaced this one in the meantime
        finally:
            shutil.rmtree(part, ignore_errors=True)
    raise OSError(torn)


@functools.cache
def storage(url: str) -> Storage:
    """Return the storage at a URL, opened once per process."""
    return Storage(url)
