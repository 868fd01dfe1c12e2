"""Paths from users, checks of files that are read at once, and atomic writing of files."""

from __future__ import annotations

import contextlib
import os
import uuid
from pathlib import Path

from trainables.errors import UserError

PROJECT = "sentence-embedding-studies"
"""Name of this project's folders among a user's files."""
MAX_FILE_BYTES = 64 << 20
"""Most bytes of a file of a study or a plugin, which is read at once. A usual file has some thousand bytes."""
_ATTEMPTS = 20


def expanded(path: str | Path) -> Path:
    """Return the path with the home folder in place of `~`. Raises `UserError` for an unknown user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise UserError(f"{path}: there is no user of that name, so no home folder; write the folder out") from None


def check_plain(path: Path) -> None:
    """Raise `ValueError` unless the path is a regular file (a pipe would block) of at most `MAX_FILE_BYTES` bytes."""
    if not path.is_file():
        raise ValueError("it is no file")
    if path.stat().st_size > MAX_FILE_BYTES:
        raise ValueError(f"it has more than {MAX_FILE_BYTES >> 20} MiB")


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents, also while another process makes them or removes them as empty."""
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(FileNotFoundError, FileExistsError):  # the latter: it existed and was removed
            folder.mkdir(parents=True, exist_ok=True)
            return
    folder.mkdir(parents=True, exist_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically: a reader, also after a crash, gets either the old file or the new one.

    Text is written as UTF-8. Missing folders are made. Raises `OSError` if the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        with open(part, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # some shared file systems cannot sync a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
