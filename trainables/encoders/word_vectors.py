"""Averaged word vectors (GloVe): the mean over a sentence's lower-cased words; zeros where none is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from trainables.encoders.contract import BaseEncoder
from trainables.encoders.fingerprint import digest
from trainables.encoders.kinds import EncoderRequest
from trainables.encoders.loading import chosen_device
from trainables.errors import UserError
from trainables.kept import KEPT, stamp


class WordVectors:
    """An encoder without parameters to train. It computes on the processor, whatever `device` an adapter has."""

    unsavable = (
        "sentence-transformers splits words at punctuation where our averages of word vectors do not, so a stock model "
        "would give other embeddings"
    )

    def __init__(self, words: Sequence[str], vectors: np.ndarray, device: str | None = None) -> None:
        """`vectors` is (words, dim) float32, a row for each word."""
        self.index = {word: row for row, word in enumerate(words)}
        self.vectors = vectors
        self.dim = int(vectors.shape[1])
        self.device: torch.device = chosen_device(device)

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Float32 means, in the order of the sentences."""
        means = np.zeros((len(sentences), self.dim), dtype=np.float32)
        for position, sentence in enumerate(sentences):
            rows = [self.index[word] for word in sentence.lower().split() if word in self.index]
            if rows:
                means[position] = self.vectors[rows].mean(axis=0)
        return means

    def fingerprint(self) -> str:
        """Sixteen digits of the words and their vectors."""
        return digest(type(self), {"words": list(self.index)}, [("vectors", self.vectors)])

    def save(self, folder: Path) -> None:
        """Refused: see `unsavable`."""
        raise UserError(f"the model cannot be saved: {self.unsavable}")


def load_word_vectors(request: EncoderRequest) -> BaseEncoder:
    """Read GloVe's text format (`word x1 x2 ...` a line), or a `.npy` matrix with its words beside it."""
    name, path = request.config.name, Path(request.config.name)
    if not path.is_file():
        raise UserError(f"no word vectors at {name!r}; name a GloVe text file or a .npy matrix")
    if path.suffix == ".npy":
        return WordVectors(*_read_matrix(path), device=request.device)
    words, vectors = KEPT.get(("word vectors", stamp(path)), lambda: _read_text(path))
    return WordVectors(words, vectors.copy(), device=request.device)


def _read_text(path: Path) -> tuple[list[str], np.ndarray]:
    words: list[str] = []
    rows: list[np.ndarray] = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            first, *numbers = line.rstrip().split(" ")
            if number == 1 and len(numbers) == 1:
                continue  # word2vec's text format opens with its counts
            # Some of GloVe's larger files have words with spaces in them, `. . .` for one.
            spaces = next((i for i, part in enumerate(numbers) if _is_number(part)), len(numbers))
            word, numbers = " ".join([first, *numbers[:spaces]]), numbers[spaces:]
            try:
                row = np.array(numbers, dtype=np.float32)
            except ValueError:
                raise UserError(f"{path}, line {number}: after the word {word!r} only numbers may follow") from None
            if len(row) != len(rows[0] if rows else row) or not len(row):
                wanted = len(rows[0]) if rows else "at least one"
                raise UserError(f"{path}, line {number}: {len(row)} numbers after the word {word!r}, not {wanted}")
            words.append(word)
            rows.append(row)
    if not rows:
        raise UserError(f"{path} is empty; a GloVe text file has a word and its numbers on each line")
    return words, np.stack(rows)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_matrix(path: Path) -> tuple[list[str], np.ndarray]:
    try:
        vectors = np.load(path, allow_pickle=False).astype(np.float32)
    except (ValueError, EOFError) as error:
        raise UserError(f"{path} is no matrix of numbers in NumPy's .npy format ({error})") from None
    if vectors.ndim != 2:
        raise UserError(f"{path} holds an array of shape {vectors.shape}, not a matrix (words, dim)")
    beside = [p for p in sorted(path.parent.iterdir()) if p.suffix in (".parquet", ".json", ".txt")]
    for candidate in beside:
        try:
            words = _read_words(candidate)
        except (ValueError, OSError):  # some other file that happens to lie there
            continue
        if len(words) == len(vectors):
            return words, vectors
    raise UserError(
        f"{path} has {len(vectors)} rows, but no .parquet, .json or .txt file beside it lists {len(vectors)} words"
    )


def _read_words(path: Path) -> list[str]:
    """Words in row order: one a line, a JSON list, or a Parquet table (a text column, or a word per named row)."""
    if path.suffix == ".txt":
        return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")  # some words are other line breaks
    if path.suffix == ".json":
        content = json.loads(path.read_text(encoding="utf-8"))
        return [str(word) for word in content] if isinstance(content, list) else []
    import pandas as pd

    table = pd.read_parquet(path)
    numbers = table.select_dtypes("number")
    if not pd.api.types.is_numeric_dtype(table.index):  # words as the index, row numbers as a column
        order = np.argsort(numbers.iloc[:, 0].to_numpy()) if len(numbers.columns) else np.arange(len(table))
        return [str(word) for word in table.index[order]]
    texts = [column for column in table.columns if column not in numbers.columns]
    return [str(word) for word in table[texts[0]]] if texts else []
