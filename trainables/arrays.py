"""Safe reading of NumPy files. Broken or hostile files raise `ValueError`: no pickle is opened, and no header decides
how much memory is allocated.

    arrays = arrays_in(read_content(Path("predictions.npz")))
    vectors = map_array(Path("vectors.npy"))

`sample_rows` draws a sample of many rows.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

from trainables.errors import describe_error

MAX_BYTES = 1 << 30
"""Most bytes of all arrays of an archive. A usual archive has some thousand bytes."""
SAMPLE_SEED = 2023
"""Seed of `sample_rows`, the same for all trials."""


def sample_rows(count: int, most: int) -> np.ndarray:
    """Return the sorted indices, (at most `most`,), of a random sample of `count` rows."""
    return np.sort(np.random.default_rng(SAMPLE_SEED).permutation(count)[:most])


def read_content(path: Path) -> bytes:
    """Return the bytes of a file. Raises `ValueError` if it cannot be read or has more than `MAX_BYTES` bytes. The
    message is a clause that fits after the file's name and a colon."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES >> 20} MiB")
        return path.read_bytes()
    except OSError as error:
        raise ValueError(describe_error(error)) from error


def arrays_in(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of a `.npz` file by name. The arrays are read-only.

    Raises `ValueError` if the file is invalid or has more than `MAX_BYTES` bytes; message as in `read_content`.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > MAX_BYTES:  # no member unpacks to more than `file_size`
                raise ValueError(f"its arrays have more than {MAX_BYTES >> 20} MiB")
            if sum(member.compress_size for member in members) > len(content):  # `read` asks for a whole member at once
                raise ValueError("it ends before its arrays do")
            if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
                raise ValueError("it is packed in a way of which NumPy writes none")  # its reader takes more memory
            return {member.filename.removesuffix(".npy"): _array(archive.read(member)) for member in members}
    except Exception as error:  # zipfile, zlib and NumPy raise many kinds of errors
        raise ValueError(describe_error(error)) from error


def map_array(path: Path) -> np.ndarray:
    """Return the array of a `.npy` file, mapped from the disk. Raises `ValueError` if the file is invalid, with a
    message as in `read_content`."""
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # as above
        raise ValueError(describe_error(error)) from error


def _array(content: bytes) -> np.ndarray:
    """Return the array of a `.npy` file's content. It shares the memory of `content`: a false shape allocates none."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"an array of version {version}, not that of plain numbers and texts")
    shape, by_columns, kind = np.lib.format.read_array_header_1_0(file)
    if kind.hasobject:
        raise ValueError("an array of objects, which are code")
    return np.ndarray(shape, kind, content, file.tell(), order="F" if by_columns else "C")
