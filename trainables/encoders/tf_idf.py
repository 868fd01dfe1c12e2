"""TF-IDF as an encoder, for comparison with trained models. It counts three to five neighbouring letters of a word; in
labelled texts also words and pairs of neighbouring words."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from pathlib import Path
from types import MappingProxyType

import numpy as np
import torch
from scipy.fft import dct
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from trainables.arrays import sample_rows
from trainables.encoders.availability import missing_tf_idf
from trainables.encoders.contract import BaseEncoder, check_savable
from trainables.encoders.fingerprint import digest
from trainables.encoders.kinds import EncoderRequest
from trainables.errors import UserError
from trainables.tabular import single_spaced
from trainables.text_lines import json_object, numbered_lines

DIM = 4096
"""Largest size of an embedding. Cosines of hashed counts are exact to 0.016 (one standard deviation)."""
MAX_LETTERS = 5_000_000
"""No further row of the file is read after this many letters, which take about ten seconds."""
SENTENCES_PER_BLOCK = 1000
DIAGONAL_TERM = 1e-8
"""Added to the product of each text with itself, so that the matrix can be factorised if texts are repeated."""


class TfIdf:
    """An encoder without trained parameters. An embedding has at most `DIM` numbers.

    Without labels the counts are hashed (`_Hashed`). Labelled texts are for classifiers: their numbers are coordinates
    in the space that at most `DIM` of the known texts span (`_Span`). A classifier that is fitted to the counts of
    these texts has its weights in this space, but cosines of two other texts lose the parts outside. Both are rotated,
    which changes no cosine, so that all numbers have similar variances. Otherwise a classifier that standardises them
    (`senteval/logistic.py`) would give rare letters too much weight.
    """

    unsavable = "sentence-transformers has no TF-IDF of letters"
    device = torch.device("cpu")

    def __init__(
        self, texts: Sequence[str], labelled: bool = False, anchors: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Weigh the letters in `texts`, and the words if `texts` are `labelled`: common ones have less weight.

        `anchors`: the anchors of each training positive. A positive is embedded as the mean of its own counts and those
        of its anchors, as in a search that learns from answered questions.
        """
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_union

        letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
        has_words = labelled and any(map(words.build_analyzer(), texts))
        self.counted = [words, letters] if has_words else [letters]
        self.counts = (make_union(*self.counted) if has_words else letters).fit(texts)
        self.reduced: _Hashed | _Span = (
            _Span(self._counted([texts[index] for index in sample_rows(len(texts), DIM)]))
            if labelled
            else _Hashed(letters.get_feature_names_out())
        )
        self.dim = self.reduced.dim
        self.anchors = anchors or {}

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Return float32 embeddings, in the order of the sentences; zeros for a sentence without known letters."""
        embeddings = np.zeros((len(sentences), self.dim), dtype=np.float32)
        for start in range(0, len(sentences), SENTENCES_PER_BLOCK):
            part = slice(start, start + SENTENCES_PER_BLOCK)
            groups = [[sentence, *self.anchors.get(single_spaced(sentence), ())] for sentence in sentences[part]]
            embeddings[part] = dct(self.reduced.numbers(self._mean_counts(groups)), norm="ortho")
        return embeddings

    def _mean_counts(self, groups: Sequence[Sequence[str]]) -> csr_array:  # (groups, names)
        sizes = np.array([*map(len, groups)])
        ends = np.concatenate([[0], sizes.cumsum()])
        weights = csr_array((np.repeat(1 / sizes, sizes), np.arange(ends[-1]), ends), shape=(len(sizes), ends[-1]))
        return weights @ self._counted([*chain.from_iterable(groups)])

    def _counted(self, sentences: Sequence[str]) -> csr_array:  # (sentences, names)
        return csr_array(self.counts.transform(sentences))

    def fingerprint(self) -> str:
        """Return sixteen hexadecimal digits of letters and words, their weights, the anchors, and the texts that span
        the space."""
        names = list(self.counts.get_feature_names_out())
        common = np.concatenate([counted.idf_ for counted in self.counted])
        settings = {"names": names, "anchors": self.anchors}
        return digest(type(self), settings, [("common", common), *self.reduced.arrays.items()])

    def save(self, folder: Path) -> None:
        """Raise `UserError`: see `unsavable`."""
        check_savable(self)


class _Hashed:
    """Adds each count to one of `DIM` numbers, with a sign. A hash of the count's name chooses both."""

    dim = DIM
    arrays: Mapping[str, np.ndarray] = MappingProxyType({})

    def __init__(self, names: Sequence[str]) -> None:
        hashes = np.array([zlib.crc32(name.encode()) for name in names])
        signs, columns = np.where(hashes >> 31 & 1, 1.0, -1.0), hashes % DIM
        self.projection = csr_array((signs, (np.arange(len(hashes)), columns)), shape=(len(hashes), DIM))

    def numbers(self, counts: csr_array) -> np.ndarray:  # (sentences, dim)
        return np.asarray((counts @ self.projection).toarray())


class _Span:
    """Coordinates in the space that the counts of some texts, (texts, names), span."""

    def __init__(self, counts: csr_array) -> None:
        self.counts = counts
        products = (counts @ counts.T).toarray()
        products[np.diag_indices_from(products)] += DIAGONAL_TERM
        with threadpool_limits(1):  # sums of several threads differ in their last bits
            self.factor = cholesky(products, lower=True, overwrite_a=True)
        self.dim = len(self.factor)

    @property
    def arrays(self) -> Mapping[str, np.ndarray]:
        """The counts of the texts that span the space, in order, for a fingerprint."""
        return {"counts": self.counts.data, "names": self.counts.indices, "texts": self.counts.indptr}

    def numbers(self, counts: csr_array) -> np.ndarray:  # (sentences, dim)
        """Return the texts' coordinates. Their products equal those of the counts, for counts inside the space."""
        products = (self.counts @ counts.T).toarray()
        with threadpool_limits(1):
            return np.asarray(solve_triangular(self.factor, products, lower=True, overwrite_b=True).T)


def load_tf_idf(request: EncoderRequest) -> BaseEncoder:
    """Make an encoder from the texts of a file of JSON lines. Raises `UserError` if there is no text."""
    path = Path(request.config.name)
    if missing := missing_tf_idf(request.config):
        raise UserError("; ".join(missing))

    texts, letters, labelled = list[str](), 0, False
    anchors: dict[str, list[str]] = {}
    for number, line in numbered_lines(path):
        row = json_object(line, f"{path}, line {number}")
        if letters > MAX_LETTERS:
            break
        texts += (own := [*_texts(row, *(name for name in row if name != "label"))])
        letters += sum(map(len, own))
        labelled = labelled or {"sentence", "label"} <= row.keys()
        for anchor, positive in product(_texts(row, "anchor"), _texts(row, "positive")):
            anchors.setdefault(single_spaced(positive), []).append(anchor)
    if not any(text.strip() for text in texts):
        raise UserError(f"{path} holds no text")
    return TfIdf(texts, labelled, anchors)


def _texts(row: Mapping[str, object], *names: str) -> Iterator[str]:
    for value in map(row.get, names):
        yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str))
