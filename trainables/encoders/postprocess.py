"""Changes of finished embeddings without training: `pooling.after`. `FITS` has one function for each value."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from trainables.encoders.contract import Encoder, for_documents
from trainables.errors import UserError

# In float64: the mean, (dim,), to subtract, and the matrix, (dim, dim), to multiply the difference by, or None.
Statistics = tuple[np.ndarray, np.ndarray | None]


class Postprocessed:
    """An encoder whose embeddings are changed by statistics of the given training sentences.

    For any encoder, and for evaluation only. Raises `UserError` for no sentences, or if all have one embedding.
    """

    def __init__(self, encoder: Encoder, sentences: Sequence[str], how: str) -> None:
        if not sentences:
            raise UserError(f"pooling.after {how!r} needs training sentences, of which there are none")
        self.encoder = encoder
        self.dim = encoder.dim
        self.mean, self.matrix = FITS[how](encoder.encode(sentences))

    @property
    def for_documents(self) -> Postprocessed | None:
        """The encoder for documents with the same statistics; None if `encoder` also encodes documents."""
        documents = for_documents(self.encoder)
        if documents is None:
            return None
        processed = copy.copy(self)
        processed.encoder = documents
        return processed

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Return float32 embeddings, in the order of the sentences."""
        embedded = self.encoder.encode(sentences, progress=progress)
        changed = np.empty_like(embedded)
        for part in _parts(embedded):
            centered = embedded[part] - self.mean
            changed[part] = centered if self.matrix is None else centered @ self.matrix
        return changed


def center(embeddings: np.ndarray) -> Statistics:
    """Return mu for the change x - mu: the mean of the training embeddings."""
    return embeddings.mean(axis=0, dtype=np.float64), None


def whiten(embeddings: np.ndarray) -> Statistics:
    """Return mu and W for the change (x - mu) W: W = U / sqrt(lambda), from the covariance U diag(lambda) U^T
    (BERT-whitening, Su et al. 2021).

    No dimension is dropped. Directions in which the training embeddings do not vary, beyond the covariance's rank,
    become 0.
    """
    mean = embeddings.mean(axis=0, dtype=np.float64)
    covariance = np.zeros((len(mean), len(mean)))
    for part in _parts(embeddings):
        centered = embeddings[part] - mean
        covariance += centered.T @ centered / len(embeddings)
    values, vectors = np.linalg.eigh(covariance)
    # Rounding to float32 alone makes variances of this size.
    floor = np.finfo(np.float32).eps ** 2 * len(mean) * (values.sum() + mean @ mean)
    varies = values > floor
    if not varies.any():
        raise UserError("pooling.after 'whiten' needs training sentences that differ; all have the same embedding")
    return mean, np.where(varies, vectors / np.sqrt(np.where(varies, values, 1.0)), 0.0)


FITS: dict[str, Callable[[np.ndarray], Statistics]] = {"center": center, "whiten": whiten}


def _parts(embeddings: np.ndarray) -> Iterator[slice]:
    """Return slices of 8192 rows, so that float64 copies of them are small."""
    return (slice(start, start + 8192) for start in range(0, len(embeddings), 8192))
