"""Fingerprints of the content of files and folders that a recipe names, so that a study can be moved.

    identity("/data/pairs.csv")        # "sha256:0f3c..." if there is such a file or folder
    identity("stanfordnlp/snli")       # else the text itself: a hub id, with its @revision if it has one
    identity("scenes")                 # built-in names are never paths, even if a folder has the name

The network is not used. A file is read again only after its size or time changed.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from trainables.errors import UserError
from trainables.files import expanded
from trainables.sections import SCENES, SCENES_ENCODER

DIGITS = 16
BUILT_IN = (SCENES, SCENES_ENCODER)
_ASIDE = ("README.md",)
"""Names of files that are ignored. The README of a saved model is rewritten."""


def identity(text: str, subfolder: str = "", by_path: Mapping[str, str] | None = None) -> str:
    """Return a text of paths and names between commas with each path replaced by its fingerprint. `subfolder`: the part
    of a folder that is read. `by_path`: known fingerprints by path, also of paths that no longer exist."""
    digits = fingerprints(text, subfolder)
    parts = [part.strip() for part in text.split(",")]
    paths = [_path(part, subfolder) for part in parts]
    return ",".join(
        (by_path or {}).get(path) or digits.get(path) or part for part, path in zip(parts, paths, strict=True)
    )


def relocate(text: str, subfolder: str, by_path: Mapping[str, str]) -> str:
    """Return the text with each missing path replaced by an existing one with the same fingerprint in `by_path`."""
    paths = {digits: path for path, digits in by_path.items() if expanded(path).exists()}
    parts = [part.strip() for part in text.split(",")]
    missing = {
        part: by_path.get(_path(part, subfolder)) for part in parts if not expanded(_path(part, subfolder)).exists()
    }
    now = (paths.get(missing.get(part) or "", part) for part in parts)
    return ",".join(path.removesuffix(f"/{subfolder}" if subfolder else "") for path in now)


def fingerprints(text: str, subfolder: str = "") -> dict[str, str]:
    """Return the fingerprints of the files and folders in a text of paths and names between commas, by path."""
    parts = (part.strip() for part in text.split(","))
    paths = {
        _path(part, subfolder): expanded(_path(part, subfolder)) for part in parts if part and part not in BUILT_IN
    }
    return {name: fingerprint(path) for name, path in paths.items() if path.exists()}


def _path(part: str, subfolder: str) -> str:
    return f"{part}/{subfolder}" if part and subfolder else part


def fingerprint(path: Path) -> str:
    """Return the fingerprint of an existing file or folder, without its name. Raises `UserError` if unreadable."""
    if path.is_file():
        return f"sha256:{_digits(path)}"
    digest = hashlib.sha256()
    for file in sorted(_files(path)):
        digest.update(f"{file.relative_to(path).as_posix()} {_digits(file)}\n".encode())
    return f"sha256:{digest.hexdigest()[:DIGITS]}"


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        inside = path.relative_to(folder).parts
        if path.is_file() and path.name not in _ASIDE and not any(name.startswith(".") for name in inside):
            yield path


def _digits(file: Path) -> str:
    status = file.stat()
    return _read(str(file.resolve()), status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=65_536)
def _read(file: str, size: int, time: int) -> str:
    try:
        with open(file, "rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()[:DIGITS]
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}") from None
