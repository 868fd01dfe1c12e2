"""Where this project keeps what it makes once for all studies of a user."""

from __future__ import annotations

from pathlib import Path

import platformdirs

from trainables.files import PROJECT


def default_cache() -> Path:
    """The project's folder in the user's cache folder; on Linux that follows XDG_CACHE_HOME."""
    return platformdirs.user_cache_path(PROJECT, appauthor=False)
