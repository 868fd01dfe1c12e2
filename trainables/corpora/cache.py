"""Folders in the user's cache, made once for all studies."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import platformdirs
from filelock import FileLock

from trainables.errors import UserError
from trainables.files import PROJECT


def default_cache() -> Path:
    """Return the project's folder in the user's cache folder; on Linux, XDG_CACHE_HOME sets that folder."""
    return platformdirs.user_cache_path(PROJECT, appauthor=False)


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Let one process at a time write `path`, a file or folder of the cache; other processes wait. `UserError`, which
    names the content as `what`, if the cache cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f".{path.name}.lock")):
            yield
    except OSError as error:
        raise UserError(
            f"cannot keep {what} in {path.parent}: {error.strerror or error}; the cache follows XDG_CACHE_HOME"
        ) from None


def write_folder(folder: Path, write: Callable[[Path], None]) -> None:
    """Create a folder completely or not at all: `write` fills a temporary folder, which is then renamed. If another
    process was faster, its folder is kept. `UserError` if the temporary folder cannot be created."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise UserError(
            f"cannot write to {folder.parent}: {error.strerror}; name another folder (the cache follows XDG_CACHE_HOME)"
        ) from None
    try:
        write(draft)
        draft.chmod(0o755)
        try:
            draft.rename(folder)
        except OSError:
            if not (folder.is_dir() and any(folder.iterdir())):
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def scenes_task(name: str, write: Callable[[Path, str], None]) -> Path:
    """Return a cached folder with the files that `write(folder, name)` makes for a built-in task. The folder's name
    has a hash of the files. `UserError` as in `write_folder`."""
    return _scenes_task(name, write, default_cache())


@cache
def _scenes_task(name: str, write: Callable[[Path, str], None], cached: Path) -> Path:
    with tempfile.TemporaryDirectory() as scratch:
        write(Path(scratch), name)
        content = b"".join(file.read_bytes() for file in sorted(Path(scratch).rglob("*")) if file.is_file())
    folder = cached / f"scenes-{name}-{hashlib.sha256(content).hexdigest()[:12]}"
    if not folder.is_dir():
        write_folder(folder, lambda draft: write(draft, name))
    return folder
