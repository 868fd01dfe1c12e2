"""Folders that this project makes once for all studies of a user."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs

from trainables.errors import UserError
from trainables.files import PROJECT


def default_cache() -> Path:
    """The project's folder in the user's cache folder; on Linux that follows XDG_CACHE_HOME."""
    return platformdirs.user_cache_path(PROJECT, appauthor=False)


def write_folder(place: Path, write: Callable[[Path], None]) -> None:
    """Make a new folder, whole or not at all: `write` fills a draft beside it. If another process was faster, its
    folder stays. `UserError` where there is no room for a draft."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    except OSError as error:
        raise UserError(
            f"cannot write to {place.parent}: {error.strerror}; name another folder (the cache follows XDG_CACHE_HOME)"
        ) from None
    try:
        write(draft)
        draft.chmod(0o755)
        try:
            draft.rename(place)
        except OSError:
            if not (place.is_dir() and any(place.iterdir())):
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
