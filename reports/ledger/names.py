"""Names of files within a results folder: relative, with slashes, never outside the folder."""

from __future__ import annotations

import os
from pathlib import Path

from trainables.errors import UserError


def checked_name(name: str) -> str:
    """Return this name of a file or folder. Raise `UserError` if it is empty or leads out of the results folder."""
    if "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        raise UserError(f"{name!r} names no file within a results folder")
    return name


def writable_path(results: Path, name: str) -> Path:
    """Return the path at which to write or remove a file or folder in `results`, which may itself be a link. Raise
    `UserError` if the name, or a link on its path, leads out of the folder: the folder may be a stranger's."""
    path = results / checked_name(name)
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(results)):
        raise UserError(
            f"{path} leads out of the results folder by a link, so nothing is written there; remove the link, or put "
            "what it leads to in its place"
        )
    return path
