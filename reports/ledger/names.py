"""Names of files within a results folder: relative, with slashes, and never out of it."""

from __future__ import annotations

import os
from pathlib import Path

from trainables.errors import UserError


def checked_name(name: str) -> str:
    """The same name; `UserError` where it would leave the folder, or is none."""
    if "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        raise UserError(f"{name!r} names no file within a results folder")
    return name


def to_write(results: Path, name: str) -> Path:
    """Where a file or folder of a results folder is written, or removed. The results folder itself may be a link.

    `UserError` where the name leaves the folder, or a link on its way leads out: the folder may be a stranger's.
    """
    path = results / checked_name(name)
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(results)):
        raise UserError(
            f"{path} leads out of the results folder by a link, so nothing is written there; remove the link, or put "
            "what it leads to in its place"
        )
    return path
