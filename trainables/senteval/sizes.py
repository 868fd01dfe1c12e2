"""Smaller embeddings to score: cut to fewer numbers, and stored in fewer bytes each.

    for variant in sizes.variants():
        score_embeddings(sizes.resize(variant), ...)       # like any others; nothing is encoded again

A vector is cut first, brought to length one if its numbers become coarser, and then written in one of `SIZE_FORMATS`;
the vectors that can be read back are scored. Ranges of `int8` come from texts that are in no test.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from statistics import median
from typing import ClassVar

import numpy as np

from trainables.errors import UserError
from trainables.registry import Registry
from trainables.senteval.evaluation import Embeddings, calibration_rows, queries_and_documents

SHARES = (1.0, 3 / 4, 1 / 2, 1 / 4, 1 / 8)
"""Shares of an embedding's numbers that are kept, so one width for each."""
MILLION = 1_000_000
DOCUMENTS, BLOCK, REPEATS, RESCORED_DOCUMENTS = 100_000, 4096, 7, 1000
"""For the time of a query: numbers of documents, of documents that are read at once, and of queries for the median. The
last is the number of documents that `Rescored` chooses by bits alone."""

Array = np.ndarray


class NumberFormat(ABC):
    """How the numbers of a vector are stored."""

    name: ClassVar[str]
    queries_whole: ClassVar[bool] = False
    """Whether queries keep all their bits, and only documents are stored in fewer."""
    calibrated: ClassVar[bool] = False
    """Whether the format needs vectors of other texts for its ranges."""

    @abstractmethod
    def size(self, width: int) -> int:
        """Return the bytes of a stored vector of `width` numbers."""

    @abstractmethod
    def written(self, rows: Array, calibration: Array) -> Array:
        """Return the stored form, (texts, ...), of (texts, width) float32 vectors."""

    @abstractmethod
    def read(self, kept: Array, calibration: Array) -> Array:  # (texts, width) float32
        """Return the vectors that the stored form stands for."""

    def cosines(self, kept: Array, query: Array, calibration: Array) -> Array:
        """Return how near each document is to a query (width,), (documents,), block by block; higher is nearer."""
        blocks = (self.read(kept[start : start + BLOCK], calibration) for start in range(0, len(kept), BLOCK))
        return np.concatenate([block @ query for block in blocks])


class Float(NumberFormat):
    """IEEE's floating-point numbers."""

    kind: ClassVar[type[np.floating]]

    def size(self, width: int) -> int:
        return width * np.dtype(self.kind).itemsize

    def written(self, rows: Array, calibration: Array) -> Array:
        return rows.astype(self.kind)

    def read(self, kept: Array, calibration: Array) -> Array:
        return kept.astype(np.float32, copy=False)


class Single(Float):
    name = "fp32"
    kind = np.float32


class Half(Float):
    name = "fp16"
    kind = np.float16


class Byte(NumberFormat):
    """Each number as one of 256 steps between its lowest and highest value in other texts."""

    name = "int8"
    calibrated = True

    def size(self, width: int) -> int:
        return width

    def written(self, rows: Array, calibration: Array) -> Array:
        from sentence_transformers.util.quantization import quantize_embeddings

        return np.asarray(quantize_embeddings(rows, "int8", ranges=_ranges(calibration)))

    def read(self, kept: Array, calibration: Array) -> Array:
        low, high = _ranges(calibration)
        step = (high - low) / 255
        return low + (kept.astype(np.float32) + np.float32(128.5)) * np.where(step == 0, np.float32(1), step)


class Binary(NumberFormat):
    """The sign of each number, eight in a byte."""

    name = "binary"

    def size(self, width: int) -> int:
        return -(-width // 8)

    def written(self, rows: Array, calibration: Array) -> Array:
        from sentence_transformers.util.quantization import quantize_embeddings

        return np.asarray(quantize_embeddings(rows, "ubinary"))

    def read(self, kept: Array, calibration: Array) -> Array:
        bits = np.unpackbits(kept, axis=-1)[..., : calibration.shape[1]]
        return bits.astype(np.float32) * 2 - 1

    def cosines(self, kept: Array, query: Array, calibration: Array) -> Array:
        bits = np.packbits(query > 0)
        return -np.bitwise_count(kept ^ bits).sum(axis=1, dtype=np.int32)


class Rescored(Binary):
    """Documents as signs. The nearest by bits alone are compared again with the whole query."""

    name = "binary, rescored"
    queries_whole = True

    def cosines(self, kept: Array, query: Array, calibration: Array) -> Array:
        near = super().cosines(kept, query, calibration)
        chosen = np.argpartition(-near, min(RESCORED_DOCUMENTS, len(near)) - 1)[:RESCORED_DOCUMENTS]
        whole = np.full(len(near), -np.inf, dtype=np.float32)
        whole[chosen] = self.read(kept[chosen], calibration) @ query
        return whole


SIZE_FORMATS: Registry[NumberFormat] = Registry("format of numbers", Single(), Half(), Byte(), Binary(), Rescored())


def _ranges(calibration: Array) -> Array:  # (2, width)
    return np.stack([calibration.min(axis=0), calibration.max(axis=0)]).astype(np.float32)


@dataclass(frozen=True)
class Variant:
    """Embeddings of `width` numbers, in one of `SIZE_FORMATS`."""

    width: int
    numbers: str = Single.name

    @property
    def name(self) -> str:
        return f"{self.width} {self.numbers}"

    @property
    def size(self) -> int:
        """Bytes of a vector."""
        return SIZE_FORMATS[self.numbers].size(self.width)


@dataclass(frozen=True)
class Sizes:
    """Makes embeddings that were computed once smaller: in any variant of width and format."""

    whole: Embeddings
    data: Path
    tasks: Sequence[str]

    def variants(self) -> list[Variant]:
        """Return the variants in which these tasks and their data can be scored, the uncut one first."""
        dim = self.whole.vectors.shape[1]
        widths = dict.fromkeys(max(1, round(share * dim)) for share in SHARES)
        searched, calibrated = self._query_and_document_rows is not None, self._calibration_rows is not None
        formats = [
            form.name
            for form in SIZE_FORMATS.values()
            if (searched or not form.queries_whole) and (calibrated or not form.calibrated)
        ]
        return [Variant(width, name) for width in widths for name in formats]

    def resize(self, variant: Variant) -> Embeddings:
        """Return the embeddings of a variant. Raises `UserError` for a width that the embeddings do not have."""
        dim = self.whole.vectors.shape[1]
        if not 0 < variant.width <= dim:
            raise UserError(f"a width of {variant.width} is none; the embeddings have {dim} numbers")
        cut = self.whole.vectors[:, : variant.width].copy()
        form = SIZE_FORMATS[variant.numbers]
        if isinstance(form, Single):
            return replace(self.whole, vectors=cut)
        unit = _unit(cut)
        rows = self._calibration_rows if form.calibrated else None
        others = unit[:1] if rows is None else unit[rows]
        coarse = form.read(form.written(unit, others), others)
        if not form.queries_whole:
            return replace(self.whole, vectors=coarse)
        if self._query_and_document_rows is None:
            raise UserError(f"{variant.numbers} needs tasks that hold queries against documents")
        (queries, documents), digits = self._query_and_document_rows
        both = np.concatenate([unit[queries], coarse[documents]])
        return replace(self.whole, vectors=both, sentences_digest=digits, separate_documents=True)

    @cached_property
    def _calibration_rows(self) -> Array | None:
        """Row numbers of texts that are in no test; None: too few. Reads the data."""
        return calibration_rows(self.whole, self.data, self.tasks)

    @cached_property
    def _query_and_document_rows(self) -> tuple[tuple[Array, Array], str] | None:
        """The result of `queries_and_documents`. Reads the data."""
        return queries_and_documents(self.whole, self.data, self.tasks)


def query_ms(variant: Variant) -> float:
    """Return the milliseconds in which a query finds the ten nearest of `DOCUMENTS` random vectors by numpy, the median
    over `REPEATS`."""
    form, rows = SIZE_FORMATS[variant.numbers], _random_rows(variant.width)
    kept, queries = form.written(rows, rows), rows[:REPEATS]
    taken = []
    for query in queries:
        began = time.perf_counter()
        near = form.cosines(kept, query, rows[:2])
        np.argpartition(-near, 10)[:10]
        taken.append(1000 * (time.perf_counter() - began))
    return median(taken)


@lru_cache(maxsize=1)  # all formats of a width are timed one after another
def _random_rows(width: int) -> Array:  # (DOCUMENTS, width)
    return _unit(np.random.default_rng(0).standard_normal((DOCUMENTS, width), dtype=np.float32))


def blas_threads() -> int:
    """Return the number of threads of numpy's matrix products."""
    from threadpoolctl import threadpool_info

    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)


def _unit(rows: Array) -> Array:
    """Return rows of length one; zeros stay zeros."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-12))
