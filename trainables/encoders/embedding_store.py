"""Embeddings of an encoder that does not change, computed once and shared by trials, processes and machines.

    FOLDER/FINGERPRINT/NAME.texts.npy      (texts,) uint64 digests
    FOLDER/FINGERPRINT/NAME.vectors.npy    (texts, dim) float32, memory-mapped
    FOLDER/FINGERPRINT/model/              the encoder itself, after a model trained on top of it was saved

    store = EmbeddingStore(encoder, folder)
    vectors = store.encode(sentences)

A folder has the name of the encoder's fingerprint, so each pooling and precision of an encoder has a folder of its own.
Every `SENTENCES_PER_FILE` newly encoded sentences make one pair of files, written whole and then renamed: a pass that
is killed loses only the last block. A file lock lets one process at a time encode, so that trials that start together
do the work once.
"""

from __future__ import annotations

import functools
import hashlib
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from filelock import FileLock

from trainables.arrays import map_array
from trainables.encoders.contract import BaseEncoder
from trainables.errors import UserError

PARTIAL = ".partial"
SENTENCES_PER_FILE = 32768
"""Number of sentences that are encoded, longest first, before their vectors are written."""


class EmbeddingStore:
    """An encoder's embeddings by row number. Row numbers are valid in this object only."""

    def __init__(self, encoder: BaseEncoder, folder: Path | None) -> None:
        """`folder` is the parent of the encoder's own folder of embeddings; None: a temporary folder."""
        self.encoder = encoder
        self.dim = encoder.dim
        if folder is None:
            self._scratch = tempfile.TemporaryDirectory()  # it is removed with this object
            folder = Path(self._scratch.name)
        self._parent = folder
        self.progress = False
        self._names: list[str] = []
        self._parts: list[np.ndarray] = []
        self._starts = np.zeros(1, dtype=np.int64)  # the first row of each part, and the number of all rows
        self._digests = np.empty(0, dtype=np.uint64)  # sorted
        self._order = np.empty(0, dtype=np.int64)  # the row of each sorted digest
        self._guard = threading.Lock()

    @functools.cached_property
    def fingerprint(self) -> str:
        """The encoder's fingerprint. After the first call the encoder must not change."""
        return self.encoder.fingerprint()

    @property
    def folder(self) -> Path:
        """The folder of this encoder's files."""
        return self._parent / self.fingerprint

    def rows(self, sentences: Sequence[str]) -> np.ndarray:  # (sentences,) int64
        """Return the row number of each sentence. Sentences that the folder lacks are encoded first."""
        digests = _digests(sentences)
        with self._guard:
            rows = self._find(digests)
            if (rows < 0).any():
                self._read()
                rows = self._find(digests)
            if (rows < 0).any():
                self._encode(sentences, digests)
                rows = self._find(digests)
        return rows

    def take(self, rows: np.ndarray) -> np.ndarray:  # (rows, dim) float32
        """Return a copy of the embeddings in these rows."""
        taken = np.empty((len(rows), self.dim), dtype=np.float32)
        part = np.searchsorted(self._starts, rows, side="right") - 1
        for number in np.unique(part):
            in_part = part == number
            taken[in_part] = self._parts[number][rows[in_part] - self._starts[number]]
        return taken

    def encode(self, sentences: Sequence[str]) -> np.ndarray:  # (sentences, dim) float32
        """Return the embeddings of the sentences, in the same order."""
        return self.take(self.rows(sentences))

    def _find(self, digests: np.ndarray) -> np.ndarray:
        """Return row numbers, -1 for unknown digests."""
        if not len(self._digests):
            return np.full(len(digests), -1)
        index = np.searchsorted(self._digests, digests).clip(max=len(self._digests) - 1)
        return np.where(self._digests[index] == digests, self._order[index], -1)

    def _read(self) -> None:
        """Read the files that this or another process has written since the last call."""
        names = sorted(path.name.removesuffix(".texts.npy") for path in self.folder.glob("[!.]*.texts.npy"))
        digests = [np.empty(0, dtype=np.uint64)]
        for name in [name for name in names if name not in self._names]:
            texts, vectors = (_load(self.folder / f"{name}.{kind}.npy") for kind in ("texts", "vectors"))
            kinds = texts.dtype == np.uint64 and vectors.dtype == np.float32
            if not kinds or texts.shape != vectors.shape[:1] or vectors.shape[1:] != (self.dim,):
                raise UserError(f"{self.folder / name}.*.npy do not belong together; remove them")
            self._names.append(name)
            self._parts.append(vectors)
            self._starts = np.append(self._starts, self._starts[-1] + len(vectors))
            digests.append(texts)
        unsorted = np.empty(self._starts[-1], dtype=np.uint64)
        unsorted[self._order] = self._digests
        unsorted[len(self._order) :] = np.concatenate(digests)
        self._order = np.argsort(unsorted, kind="stable")
        self._digests = unsorted[self._order]

    def _encode(self, sentences: Sequence[str], digests: np.ndarray) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self.folder / ".lock"):
                for left in self.folder.glob(f".*{PARTIAL}"):  # left by a killed process
                    left.unlink()
                self._read()
                distinct, first = np.unique(digests, return_index=True)
                missing = np.sort(first[self._find(distinct) < 0])  # in the order of the sentences
                for start in range(0, len(missing), SENTENCES_PER_FILE):
                    block = missing[start : start + SENTENCES_PER_FILE]
                    self._write([sentences[i] for i in block], digests[block])
            self._read()
        except OSError as error:
            raise UserError(f"embeddings cannot be kept in {self.folder}: {error.strerror or error}") from None

    def _write(self, sentences: Sequence[str], digests: np.ndarray) -> None:
        name = hashlib.blake2b(digests.tobytes(), digest_size=8).hexdigest()
        vectors = self.encoder.encode(sentences, progress=self.progress)
        wrong = ~np.isfinite(vectors).all(axis=1)
        if wrong.any():
            first = sentences[int(wrong.argmax())]
            raise UserError(f"the encoder gives NaN or infinity for {wrong.sum():,} sentences, {first!r} first")
        partial = self.folder / f".{name}{PARTIAL}"
        for kind, array in (("vectors", vectors), ("texts", digests)):  # texts last: if there, both are whole
            with partial.open("wb") as file:
                np.save(file, array)
            partial.replace(self.folder / f"{name}.{kind}.npy")


def _digests(sentences: Sequence[str]) -> np.ndarray:  # (sentences,) uint64
    """Return a 64-bit digest of each text. With a million texts, the chance of two equal digests is 1 in 40 million."""
    joined = b"".join(hashlib.blake2b(sentence.encode(), digest_size=8).digest() for sentence in sentences)
    return np.frombuffer(joined, dtype=np.uint64)


def _load(path: Path) -> np.ndarray:
    try:
        return map_array(path)
    except ValueError:
        raise UserError(f"{path} is no file of cached embeddings; remove it") from None
