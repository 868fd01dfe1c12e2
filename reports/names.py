"""Names of files within a results folder: relative, with slashes, and never out of it."""

from __future__ import annotations

from trainables.errors import UserError


def checked_name(name: str) -> str:
    """The same name; `UserError` where it would leave the folder, or is none."""
    if "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        raise UserError(f"{name!r} names no file within a results folder")
    return name
