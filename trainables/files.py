"""Paths that a person named, files that can be read at once, and the one way to write a file that others read: whole
or not at all."""

from __future__ import annotations

import contextlib
import os
import uuid
from pathlib import Path

from trainables.errors import UserError

PROJECT = "sentence-embedding-studies"
"""What this project's folders of a user are called."""
LARGEST = 64 << 20
"""Bytes of a file that is read at once, of a study or a plugin; a usual one has some thousands."""
_ATTEMPTS = 20


def expanded(path: str | Path) -> Path:
    """With the home folder for `~`; `UserError` where nobody is called so."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise UserError(f"{path}: there is no user of that name, so no home folder; write the folder out") from None


def check_plain(path: Path) -> None:
    """`ValueError` where there is no file that can be read at once: none at all, a folder, a pipe, which a reader would
    wait for, or one of more than `LARGEST` bytes."""
    if not path.is_file():
        raise ValueError("it is no file")
    if path.stat().st_size > LARGEST:
        raise ValueError(f"it has more than {LARGEST >> 20} MiB")


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, if they are not there: also where another process makes these at this moment,
    or removes them because they are empty."""
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(FileNotFoundError, FileExistsError):  # the latter: it was there, and is not any more
            folder.mkdir(parents=True, exist_ok=True)
            return
    folder.mkdir(parents=True, exist_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader, or a crash, sees either the old one or the new one.

    Text is written as UTF-8. Missing folders are made. Raises `OSError` where the file cannot be written.
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
