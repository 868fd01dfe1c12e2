"""Averaged word vectors (GloVe): the mean over a sentence's lower-cased words; zeros if no word is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from trainables.arrays import map_array
from trainables.encoders.contract import BaseEncoder, check_savable
from trainables.encoders.fingerprint import digest
from trainables.encoders.kinds import EncoderRequest
from trainables.encoders.loading import chosen_device
from trainables.errors import UserError, is_text, shown
from trainables.lines import bounded_lines
from trainables.process_cache import PROCESS_CACHE, file_states
from trainables.text_lines import refusal

_LARGEST_LIST = 256 * 2**20
"""Largest JSON file of words, in bytes."""


class WordVectors:
    """An encoder without trained parameters. It computes on the CPU; `device` is that of an adapter on top."""

    unsavable = (
        "sentence-transformers splits words at punctuation where our averages of word vectors do not, so a stock model "
        "would give other embeddings"
    )

    def __init__(self, words: Sequence[str], vectors: np.ndarray, device: str | None = None) -> None:
        """`vectors` is (words, dim) float32, a row for each word; of a repeated word the first row counts."""
        self.index: dict[str, int] = {}
        for row, word in enumerate(words):
            self.index.setdefault(word, row)
        self.vectors = vectors
        self.dim = int(vectors.shape[1])
        self.device: torch.device = chosen_device(device)

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Return float32 embeddings, the means of word vectors, in the order of the sentences."""
        means = np.zeros((len(sentences), self.dim), dtype=np.float32)
        for position, sentence in enumerate(sentences):
            rows = [self.index[word] for word in sentence.lower().split() if word in self.index]
            if rows:
                means[position] = self.vectors[rows].mean(axis=0)
        return means

    def fingerprint(self) -> str:
        """Return sixteen hexadecimal digits of the words and their vectors."""
        return digest(type(self), {"words": list(self.index)}, [("vectors", self.vectors)])

    def save(self, folder: Path) -> None:
        """Raise `UserError`: see `unsavable`."""
        check_savable(self)


def load_word_vectors(request: EncoderRequest) -> BaseEncoder:
    """Read GloVe's text format (`word x1 x2 ...` per line), or a `.npy` matrix with a file of words beside it."""
    name, path = request.config.name, Path(request.config.name)
    if not path.is_file():
        raise UserError(f"no word vectors at {name!r}; name a GloVe text file or a .npy matrix")
    if path.suffix == ".npy":
        return WordVectors(*_read_matrix(path), device=request.device)
    words, vectors = PROCESS_CACHE.get(("word vectors", file_states(path)), lambda: _read_text(path))
    return WordVectors(words, vectors.copy(), device=request.device)


def _read_text(path: Path) -> tuple[list[str], np.ndarray]:
    words: list[str] = []
    rows: list[np.ndarray] = []
    counts: list[int] | None = None

    refuse = partial(refusal, path)
    with path.open("rb") as file:
        for number, content in bounded_lines(file, refuse):
            try:
                first, *numbers = content.decode("utf-8-sig" if number == 1 else "utf-8").rstrip().split(" ")
            except UnicodeDecodeError as error:
                raise refuse(number, f"not UTF-8 ({error.reason})") from None
            if number == 1 and len(numbers) == 1:
                counts = _header(first, numbers[0])  # word2vec's text format opens with its counts
                continue
            # Some of GloVe's larger files have words with spaces in them, `. . .` for one.
            spaces = next((i for i, part in enumerate(numbers) if _is_number(part)), len(numbers))
            word, numbers = " ".join([first, *numbers[:spaces]]), numbers[spaces:]
            try:
                row = np.array(numbers, dtype=np.float32)
            except ValueError:
                raise refuse(number, f"after the word {shown(word)} only numbers may follow") from None
            if len(row) != len(rows[0] if rows else row) or not len(row):
                expected = len(rows[0]) if rows else "at least one"
                raise refuse(number, f"{len(row)} numbers after the word {shown(word)}, not {expected}")
            if not np.isfinite(row).all():
                raise refuse(number, f"NaN or infinity after the word {shown(word)}")
            words.append(word)
            rows.append(row)
    if not rows:
        raise UserError(f"{path} is empty; a GloVe text file has a word and its numbers on each line")
    if counts not in (None, [len(rows), len(rows[0])]):
        raise refuse(
            1,
            f"it says {shown(counts)} words and numbers each, but {len(rows):,} words follow, with "
            f"{len(rows[0])} numbers each; correct or delete it",
        )
    return words, np.stack(rows)


def _header(words: str, dim: str) -> list[int] | None:
    """Return the two counts of a first line such as `400000 50`; None if the line holds other content."""
    return [int(words), int(dim)] if words.isdecimal() and dim.isdecimal() and len(words + dim) < 30 else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_matrix(path: Path) -> tuple[list[str], np.ndarray]:
    try:
        matrix = map_array(path)
    except ValueError as error:
        raise UserError(f"{path} is no matrix of numbers in NumPy's .npy format ({error})") from None
    if matrix.dtype.kind not in "fiu":
        raise UserError(f"{path} is no matrix of numbers in NumPy's .npy format")
    if matrix.ndim != 2 or not matrix.size:
        raise UserError(f"{path} holds an array of shape {matrix.shape}, not a matrix (words, dim)")
    vectors = matrix.astype(np.float32)
    wrong = ~np.isfinite(vectors).all(axis=1)
    if wrong.any():
        raise UserError(f"{path}, row {int(wrong.argmax()) + 1}: NaN or infinity among its numbers")
    suffixes = (".parquet", ".json", ".txt")
    beside = [file for file in sorted(path.parent.iterdir()) if file.suffix in suffixes and file.is_file()]
    for candidate in beside:
        words = _read_words(candidate, len(vectors))
        if len(words) == len(vectors) and all(isinstance(word, str) and is_text(word) for word in words):
            return words, vectors
    raise UserError(
        f"{path} has {len(vectors)} rows, but no .parquet, .json or .txt file beside it lists {len(vectors)} words"
    )


def _read_words(path: Path, count: int) -> list[str]:
    """Return words in row order: one per line, a JSON list, or a Parquet table (a text column, or the index).

    For an unrelated file the number of returned words is not `count`.
    """
    try:
        return {".txt": _text_words, ".json": _json_words, ".parquet": _parquet_words}[path.suffix](path, count)
    except Exception:  # the content does not match the suffix
        return []


def _text_words(path: Path, count: int) -> list[str]:
    with path.open("rb") as file:
        lines = islice(bounded_lines(file, partial(refusal, path)), count + 1)
        return [line.decode().removesuffix("\n") for _, line in lines]


def _json_words(path: Path, count: int) -> list[str]:
    if path.stat().st_size > _LARGEST_LIST:
        return []
    content = json.loads(path.read_text(encoding="utf-8"))
    return content if isinstance(content, list) else []


def _parquet_words(path: Path, count: int) -> list[str]:
    import pandas as pd
    import pyarrow.parquet

    if pyarrow.parquet.read_metadata(path).num_rows != count:
        return []
    table = pd.read_parquet(path)
    numbers = table.select_dtypes("number")
    if not pd.api.types.is_numeric_dtype(table.index):  # words as the index, row numbers as a column
        order = np.argsort(numbers.iloc[:, 0].to_numpy()) if len(numbers.columns) else np.arange(len(table))
        return [*table.index[order]]
    texts = [column for column in table.columns if column not in numbers.columns]
    return [*table[texts[0]]] if texts else []
