"""TF-IDF of three to five letters in a word, of labelled texts of words and two words in a row, too: what a search or a
classifier does without any model, to hold models against."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import MappingProxyType

import numpy as np
import torch
from scipy.fft import dct
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from trainables.arrays import drawn
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
NEAR_NOTHING = 1e-8
"""Is added to each text's product with itself, so that texts which repeat each other have coordinates, too."""


class TfIdf:
    """An encoder without parameters, of at most `DIM` numbers.

    Each count is added to one of them, with a sign, both by its letters. Of labelled texts, which a classifier reads,
    the numbers are instead coordinates in the space that `DIM` of the known texts span: what a classifier of all counts
    learns from these lies in it, but cosines of two other texts lose what lies outside. Both are rotated, which changes
    no cosine, so that all numbers vary alike: a classifier that standardises them (`senteval/logistic.py`) would make
    much of rare letters else.
    """

    unsavable = "sentence-transformers has no TF-IDF of letters"
    device = torch.device("cpu")

    def __init__(
        self, texts: Sequence[str], labelled: bool = False, anchors: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Count letters in `texts`, and words if these are `labelled`: common ones weigh less.

        `anchors`: the anchors that each training positive has. A positive is embedded as the mean of its own counts and
        theirs, as a search that learns from answered questions does.
        """
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_union

        letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
        has_words = labelled and any(map(words.build_analyzer(), texts))
        self.counted = [words, letters] if has_words else [letters]
        self.counts = (make_union(*self.counted) if has_words else letters).fit(texts)
        self.reduced: _Hashed | _Span = (
            _Span(self._counted([texts[place] for place in drawn(len(texts), DIM)]))
            if labelled
            else _Hashed(letters.get_feature_names_out())
        )
        self.dim = self.reduced.dim
        self.anchors = anchors or {}

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Float32, in the order of the sentences; zeros where no letters are known."""
        embeddings = np.zeros((len(sentences), self.dim), dtype=np.float32)
        for start in range(0, len(sentences), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            embeddings[part] = self._embedded(self._counted(sentences[part]))
        for place, sentence in enumerate(sentences):
            if anchors := self.anchors.get(sentence):
                mean = self._counted([sentence, *anchors]).mean(axis=0)
                embeddings[place] = self._embedded(csr_array(mean[None]))
        return embeddings

    def _embedded(self, counts: csr_array) -> np.ndarray:  # (sentences, dim)
        return np.asarray(dct(self.reduced.numbers(counts), norm="ortho"))

    def _counted(self, sentences: Sequence[str]) -> csr_array:  # (sentences, names)
        return csr_array(self.counts.transform(sentences))

    def fingerprint(self) -> str:
        """Sixteen digits of the letters and words, how common they are, and the texts that span the space."""
        names = list(self.counts.get_feature_names_out())
        common = np.concatenate([counted.idf_ for counted in self.counted])
        settings = {"names": names, "anchors": self.anchors}
        return digest(type(self), settings, [("common", common), *self.reduced.arrays.items()])

    def save(self, folder: Path) -> None:
        """Refused: see `unsavable`."""
        check_savable(self)


class _Hashed:
    """Each count is added to one of `DIM` numbers, with a sign, both by its name."""

    dim = DIM
    arrays: Mapping[str, np.ndarray] = MappingProxyType({})

    def __init__(self, names: Sequence[str]) -> None:
        hashes = np.array([zlib.crc32(name.encode()) for name in names])
        signs, places = np.where(hashes >> 31 & 1, 1.0, -1.0), hashes % DIM
        self.places = csr_array((signs, (np.arange(len(hashes)), places)), shape=(len(hashes), DIM))

    def numbers(self, counts: csr_array) -> np.ndarray:  # (sentences, dim)
        return np.asarray((counts @ self.places).toarray())


class _Span:
    """Coordinates in the space that some texts span by their counts, (texts, names)."""

    def __init__(self, counts: csr_array) -> None:
        self.counts = counts
        products = (counts @ counts.T).toarray()
        products[np.diag_indices_from(products)] += NEAR_NOTHING
        with threadpool_limits(1):  # sums of several threads end otherwise in their last bits
            self.factor = cholesky(products, lower=True, overwrite_a=True)
        self.dim = len(self.factor)

    @property
    def arrays(self) -> Mapping[str, np.ndarray]:
        """What a fingerprint is made of: the texts, in their order."""
        return {"counts": self.counts.data, "names": self.counts.indices, "texts": self.counts.indptr}

    def numbers(self, counts: csr_array) -> np.ndarray:  # (sentences, dim)
        """Whose products with each other are those of the counts, as far as these lie in the space."""
        products = (self.counts @ counts.T).toarray()
        with threadpool_limits(1):
            return np.asarray(solve_triangular(self.factor, products, lower=True, overwrite_b=True).T)


def load_tf_idf(request: EncoderRequest) -> BaseEncoder:
    """From the texts of a file of rows, a JSON object in each line."""
    path = Path(request.config.name)
    if missing := missing_tf_idf(request.config):
        raise UserError("; ".join(missing))

    texts, letters, labelled = list[str](), 0, False
    anchors: dict[str, list[str]] = {}
    for number, line in numbered_lines(path):
        row = json_object(line, f"{path}, line {number}")
        if letters > MOST_LETTERS:
            break
        texts += (own := [*_texts(row, *(name for name in row if name != "label"))])
        letters += sum(map(len, own))
        labelled = labelled or {"sentence", "label"} <= row.keys()
        for anchor, positive in product(_texts(row, "anchor"), _texts(row, "positive")):
            anchors.setdefault(positive, []).append(anchor)
    if not any(text.strip() for text in texts):
        raise UserError(f"{path} holds no text")
    return TfIdf(texts, labelled, anchors)


def _texts(row: Mapping[str, object], *names: str) -> Iterator[str]:
    for value in map(row.get, names):
        yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str))
