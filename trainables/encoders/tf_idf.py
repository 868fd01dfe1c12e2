"""TF-IDF of three to five letters in a word: what a search or a classifier does without any model, to hold models
against."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_array

from trainables.encoders.availability import missing_tf_idf
from trainables.encoders.contract import BaseEncoder, check_savable
from trainables.encoders.fingerprint import digest
from trainables.encoders.kinds import EncoderRequest
from trainables.errors import UserError
from trainables.text_lines import json_object, numbered_lines

DIM = 4096
"""Cosines of so many numbers are those of the counts within 0.016 (one standard deviation). A classifier reads one to
four points less from them (2,000 texts of 12 labels, 1,200 of 8)."""
MOST_LETTERS = 5_000_000
"""Of the file, which say how common letters are: some ten seconds."""
AT_ONCE = 1000


class TfIdf:
    """An encoder without parameters. Each count is added to one of `DIM` numbers, with a sign, both by its letters."""

    unsavable = "sentence-transformers has no TF-IDF of letters"
    dim = DIM
    device = torch.device("cpu")

    def __init__(self, texts: Sequence[str]) -> None:
        """`texts` say how common letters are: what is in many of them counts less."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.counts = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
        self.counts.fit(texts)
        hashes = np.array([zlib.crc32(letters.encode()) for letters in self.counts.get_feature_names_out()])
        signs, places = np.where(hashes >> 31 & 1, 1.0, -1.0), hashes % DIM
        self.places = csr_array((signs, (np.arange(len(hashes)), places)), shape=(len(hashes), DIM))

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, DIM)
        """Float32, in the order of the sentences; zeros where no letters are known."""
        embeddings = np.zeros((len(sentences), DIM), dtype=np.float32)
        for start in range(0, len(sentences), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            embeddings[part] = (self.counts.transform(sentences[part]) @ self.places).toarray()
        return embeddings

    def fingerprint(self) -> str:
        """Sixteen digits of the letters and how common they are."""
        letters = list(self.counts.get_feature_names_out())
        return digest(type(self), {"letters": letters}, [("common", self.counts.idf_)])

    def save(self, folder: Path) -> None:
        """Refused: see `unsavable`."""
        check_savable(self)


def load_tf_idf(request: EncoderRequest) -> BaseEncoder:
    """From the texts of a file of rows, a JSON object in each line."""
    path = Path(request.config.name)
    if missing := missing_tf_idf(request.config):
        raise UserError("; ".join(missing))

    texts, letters = list[str](), 0
    for text in (text for row in _rows(path) for text in _texts(row)):
        if letters > MOST_LETTERS:
            break
        texts.append(text)
        letters += len(text)
    if not any(text.strip() for text in texts):
        raise UserError(f"{path} holds no text")
    return TfIdf(texts)


def _rows(path: Path) -> Iterator[dict[str, object]]:
    for number, line in numbered_lines(path):
        yield json_object(line, f"{path}, line {number}")


def _texts(row: dict[str, object]) -> Iterator[str]:
    for name, value in row.items():
        if name != "label":
            yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str))
