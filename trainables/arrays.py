"""NumPy's files, read so that a broken or a hostile one is refused: no pickle is opened, and no header decides how much
memory is taken.

    arrays = arrays_in(read_content(Path("predictions.npz")))
    vectors = map_array(Path("vectors.npy"))

And which of many rows stand for all (`drawn`).
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

from trainables.errors import unforeseen

LARGEST = 1 << 30
"""Bytes of the arrays of an archive together at most; a usual one has some thousands."""
DRAWN = 2023
"""Draws the rows that stand for all, whatever the seed of a trial."""


def drawn(count: int, most: int) -> np.ndarray:
    """(`most` at most,) Which of so many rows are taken, in their order."""
    return np.sort(np.random.default_rng(DRAWN).permutation(count)[:most])


def read_content(path: Path) -> bytes:
    """A file whole; `ValueError`, a sentence's end, where it cannot be read or has more than `LARGEST` bytes."""
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it has more than {LARGEST >> 20} MiB")
        return path.read_bytes()
    except OSError as error:
        raise ValueError(unforeseen(error)) from error


def arrays_in(content: bytes) -> dict[str, np.ndarray]:
    """The arrays of a `.npz` file by name, which cannot be written to.

    `ValueError`, a sentence's end, where it is none, or holds more than `LARGEST` bytes.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > LARGEST:  # no member gives more than it says
                raise ValueError(f"its arrays have more than {LARGEST >> 20} MiB")
            if sum(member.compress_size for member in members) > len(content):  # all of it is asked for at once
                raise ValueError("it ends before its arrays do")
            if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
                raise ValueError("it is packed in a way of which NumPy writes none")  # and which takes memory by itself
            return {member.filename.removesuffix(".npy"): _array(archive.read(member)) for member in members}
    except Exception as error:  # every layer of it fails in its own ways
        raise ValueError(unforeseen(error)) from error


def map_array(path: Path) -> np.ndarray:
    """The array of a `.npy` file, which stays on the disk until it is used.

    `ValueError`, a sentence's end, where it is none.
    """
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # as above
        raise ValueError(unforeseen(error)) from error


def _array(content: bytes) -> np.ndarray:
    """A `.npy` file in memory. The array is this memory, so a shape that is only claimed makes nothing."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"an array of version {version}, not that of plain numbers and texts")
    shape, by_columns, kind = np.lib.format.read_array_header_1_0(file)
    if kind.hasobject:
        raise ValueError("an array of objects, which are code")
    return np.ndarray(shape, kind, content, file.tell(), order="F" if by_columns else "C")
