"""TF-IDF of three to five letters in a word, of labelled texts of words and two words in a row, too: what a search or a
classifier does without any model, to hold models against."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from scipy.fft import dct
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import csr_array

from trainables.encoders.availability import missing_tf_idf
from trainables.encoders.contract import BaseEncoder, check_savable
from trainables.encoders.fingerprint import digest
from trainables.encoders.kinds import EncoderRequest
from trainables.errors import UserError
from trainables.text_lines import json_object, numbered_lines

DIM = 4096
"""Cosines of so many numbers are those of the counts within 0.016 (one standard deviation)."""
MOST_LETTERS = 5_000_000
"""Of the file, which say how common letters are: some ten seconds."""
AT_ONCE = 1000
DRAWN = 2023
"""Draws the texts that span the space."""
NEAR_NOTHING = 1e-8
"""Is added to each text's product with itself, so that texts which repeat each other have coordinates, too."""


class TfIdf:
    """An encoder without parameters, of at most `DIM` numbers.

    Each count is added to one of them, with a sign, both by its letters. Of labelled texts, which a classifier reads,
    the numbers are instead coordinates in the space that `DIM` of the known texts span: what a classifier of all counts
    learns from these lies in it. Both are rotated, so that all numbers vary alike: a classifier that standardises them
    (`senteval/logistic.py`) would make much of rare letters else. Cosines stay.
    """

    unsavable = "sentence-transformers has no TF-IDF of letters"
    device = torch.device("cpu")

    def __init__(self, texts: Sequence[str], labelled: bool = False) -> None:
        """`texts` say how common letters are, and of `labelled` ones words: what many of them have counts less."""
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_union

        letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
        self.counted = [words, letters] if labelled else [letters]
        self.counts = make_union(*self.counted).fit(texts)
        self.span = _Span(csr_array(self.counts.transform(texts))) if labelled else None
        self.dim = self.span.dim if self.span else DIM
        hashes = np.array([zlib.crc32(name.encode()) for name in self.counts.get_feature_names_out()])
        signs, places = np.where(hashes >> 31 & 1, 1.0, -1.0), hashes % DIM
        self.places = csr_array((signs, (np.arange(len(hashes)), places)), shape=(len(hashes), DIM))

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Float32, in the order of the sentences; zeros where no letters are known."""
        embeddings = np.zeros((len(sentences), self.dim), dtype=np.float32)
        for start in range(0, len(sentences), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            counts = csr_array(self.counts.transform(sentences[part]))
            numbers = self.span.coordinates(counts) if self.span else (counts @ self.places).toarray()
            embeddings[part] = dct(numbers, norm="ortho")
        return embeddings

    def fingerprint(self) -> str:
        """Sixteen digits of the letters and how common they are."""
        names = list(self.counts.get_feature_names_out())
        common = np.concatenate([counted.idf_ for counted in self.counted])
        return digest(type(self), {"names": names, "span": self.dim}, [("common", common)])

    def save(self, folder: Path) -> None:
        """Refused: see `unsavable`."""
        check_savable(self)


class _Span:
    """The space that some texts span by their counts, (texts, names)."""

    def __init__(self, counts: csr_array) -> None:
        drawn = np.random.default_rng(DRAWN).permutation(counts.shape[0])[:DIM]
        self.counts = counts[np.sort(drawn)]
        products = (self.counts @ self.counts.T).toarray()
        self.factor = cholesky(products + NEAR_NOTHING * np.eye(len(products)), lower=True)
        self.dim = len(products)

    def coordinates(self, counts: csr_array) -> np.ndarray:  # (sentences, dim)
        """Whose products with each other are those of the counts, as far as these lie in the space."""
        products = (self.counts @ counts.T).toarray()
        return np.asarray(solve_triangular(self.factor, products, lower=True).T)


def load_tf_idf(request: EncoderRequest) -> BaseEncoder:
    """From the texts of a file of rows, a JSON object in each line."""
    path = Path(request.config.name)
    if missing := missing_tf_idf(request.config):
        raise UserError("; ".join(missing))

    texts, letters, labelled = list[str](), 0, False
    for row in _rows(path):
        if letters > MOST_LETTERS:
            break
        texts += (own := [*_texts(row)])
        letters += sum(map(len, own))
        labelled = labelled or {"sentence", "label"} <= row.keys()
    if not any(text.strip() for text in texts):
        raise UserError(f"{path} holds no text")
    return TfIdf(texts, labelled)


def _rows(path: Path) -> Iterator[dict[str, object]]:
    for number, line in numbered_lines(path):
        yield json_object(line, f"{path}, line {number}")


def _texts(row: dict[str, object]) -> Iterator[str]:
    for name, value in row.items():
        if name != "label":
            yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str))
