"""NumPy's files: read as they were written, or refused in words, with no more memory than they hold."""

from __future__ import annotations

import contextlib
import io
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from trainables import arrays
from trainables.arrays import arrays_in, map_array, read_content, sample_rows

WRITTEN = {
    "gold": np.arange(6, dtype=np.int8),
    "scores": np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3),
    "by_columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "texts": np.array(["a", "bcd"]),
    "nothing": np.zeros((0, 4)),
    "alone": np.array(3.0),
}


def npy(array: np.ndarray, claimed: tuple[int, ...] | None = None) -> bytes:
    """As `np.save` writes it; with another shape than it has."""
    content = io.BytesIO()
    header = {"descr": array.dtype.str, "fortran_order": False, "shape": claimed or array.shape}
    np.lib.format.write_array_header_1_0(content, header)
    return content.getvalue() + array.tobytes()


def archived(content: bytes, packed: int = zipfile.ZIP_DEFLATED) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", packed) as archive:
            archive.writestr("gold.npy", content)

    return write


def written(path: Path, save: Callable[..., None] = np.savez_compressed) -> Path:
    save(path, **WRITTEN)
    return path


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_are_read_as_they_were_written(tmp_path: Path, save: Callable[..., None]):
    arrays = arrays_in(read_content(written(tmp_path / "kept.npz", save)))
    assert arrays.keys() == WRITTEN.keys()
    for name, array in WRITTEN.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


def flips(content: bytes) -> Iterator[bytes]:
    """Every byte with one of its bits turned, another one from byte to byte, and with all of them."""
    for place, byte in enumerate(content):
        for turned in (1 << place % 8, 0xFF):
            yield content[:place] + bytes([byte ^ turned]) + content[place + 1 :]


def test_every_flipped_byte_is_refused_or_changes_nothing(tmp_path: Path):
    """The names of arrays stand where no checksum is."""
    path, kept = tmp_path / "kept.npz", {name: WRITTEN[name] for name in ("gold", "texts")}
    np.savez_compressed(path, **kept)  # type: ignore[arg-type]
    content, refused = path.read_bytes(), 0
    tracemalloc.start()
    for flipped in flips(content):
        path.write_bytes(flipped)
        try:
            arrays = arrays_in(read_content(path))
        except ValueError:
            refused += 1
            continue
        assert all(np.array_equal(arrays[name], kept[name]) for name in arrays.keys() & kept.keys())
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused > len(content)
    assert most < 20 << 20


def test_every_flipped_byte_of_a_mapped_array_is_refused_or_gives_an_array(tmp_path: Path):
    content, path = npy(WRITTEN["texts"]), tmp_path / "flipped.npy"
    for flipped in flips(content):
        path.write_bytes(flipped)
        with contextlib.suppress(ValueError):
            assert map_array(path).nbytes <= len(content)


@pytest.mark.parametrize(
    ("write", "why"),
    [
        pytest.param(archived(bytes(3 << 20)), "its arrays have more than 2 MiB", id="a bomb"),
        pytest.param(archived(npy(np.zeros(9), (10**13,))), "buffer is too small", id="a header that claims 10^13"),
        pytest.param(archived(npy(np.zeros(9), (10**20,))), ".", id="more than a number of the machine"),
        pytest.param(archived(npy(np.zeros(9)), zipfile.ZIP_LZMA), "of which NumPy writes none", id="another packing"),
        pytest.param(archived(b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535), ".", id="a header too deep"),
        pytest.param(lambda path: np.savez(path, x=np.array([{}])), "objects, which are code", id="objects"),
        pytest.param(lambda path: path.write_bytes(b""), "not a zip file", id="nothing"),
        pytest.param(lambda path: path.mkdir(), "directory", id="a folder"),
        pytest.param(lambda path: None, "No such file", id="no file"),
    ],
)
def test_what_is_none_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None], why: str
):
    monkeypatch.setattr(arrays, "MAX_BYTES", 2 << 20)
    path = tmp_path / "kept.npz"
    write(path)
    tracemalloc.start()
    with pytest.raises(ValueError, match=why):
        arrays_in(read_content(path))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2 << 20


@pytest.mark.parametrize("content", [npy(np.zeros(9), (10**13,)), b"", b"PK\x03\x04", npy(np.zeros(9))[:-1]])
def test_a_mapped_array_is_all_there(tmp_path: Path, content: bytes):
    path = tmp_path / "vectors.npy"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"."):
        map_array(path)


def test_the_same_rows_always_stand_for_all() -> None:
    """Records of old and new trials are of the same ones."""
    assert sample_rows(100, 4).tolist() == [19, 21, 29, 34]
    assert sample_rows(3, 4).tolist() == [0, 1, 2]
