"""CLSR's encoder: a frozen base, whose embeddings are computed once, and a small trained network on top of them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from trainables.encoders.embedding_store import EmbeddingStore
from trainables.errors import UserError

if TYPE_CHECKING:
    from trainables.encoders import Encoder


OUTPUTS = 768
SENTENCES_PER_PASS = 4096


class AdaptedEncoder(nn.Module):
    """`e` of Qiu 2022, section 3: "a simple Multi-Layer Perceptron (MLP) with 1 hidden layer and ReLU nonlinearity on
    the output". Its size is the base's throughout, but at most 768 come out ("a 768-dimensional output layer").

    The paper does not name the hidden layer's own activation. Without one two linear layers would be one, so
    it is ReLU too: linear, ReLU, linear, ReLU. An embedding therefore has no negative number.

    It trains like a `TransformerEncoder` whose every sentence is one token: its row in the store of base embeddings.
    The base is in no state dict, gets no gradient, and stays in evaluation mode.
    """

    def __init__(self, base: Encoder, folder: Path | None = None, *, store: EmbeddingStore | None = None) -> None:
        """The adapter's weights are drawn here. `folder` keeps the base's embeddings (None: for this object's life);
        adapters over one base may be given the `store` of the first."""
        super().__init__()
        if isinstance(base, nn.Module):
            base.eval().requires_grad_(False)
        self._scratch = tempfile.TemporaryDirectory() if folder is None and store is None else None
        # The store holds the base out of sight of nn.Module.
        self.store = store or EmbeddingStore(base, folder or Path(self._scratch.name))  # type: ignore[union-attr]
        self.dim = min(base.dim, OUTPUTS)
        self.adapter = nn.Sequential(nn.Linear(base.dim, base.dim), nn.ReLU(), nn.Linear(base.dim, self.dim), nn.ReLU())
        self.to(getattr(base, "device", "cuda" if torch.cuda.is_available() else "cpu"))

    @property
    def base(self) -> Any:
        """The frozen encoder."""
        return self.store.encoder

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def precision(self) -> torch.dtype:
        """In which the base computes, where it has a choice; the adapter is always float32."""
        return getattr(self.base, "precision", torch.float32)

    @precision.setter
    def precision(self, precision: torch.dtype) -> None:
        self._settle("precision", precision)

    @property
    def padded_inference(self) -> bool:
        return getattr(self.base, "padded_inference", False)

    @padded_inference.setter
    def padded_inference(self, padded: bool) -> None:
        self._settle("padded_inference", padded)

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        """One number for each sentence: its row in the store. What the store does not hold is encoded first, so
        hand it all sentences of a training once, before the batches."""
        return [[row] for row in self.store.rows(sentences).tolist()]

    def embed(self, tokens: Sequence[Sequence[int]]) -> Tensor:  # (sentences, dim)
        """Embeddings of tokenized sentences, with gradient, in their order."""
        rows = np.array([row for (row,) in tokens], dtype=np.int64)
        base = torch.from_numpy(self.store.take(rows))
        return self.adapter(base.to(next(self.parameters())))

    @torch.inference_mode()
    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Float32 embeddings, in the order of the sentences."""
        self.store.progress = progress
        rows = self.store.rows(sentences)
        embedded = np.empty((len(rows), self.dim), dtype=np.float32)
        for start in range(0, len(rows), SENTENCES_PER_PASS):
            part = slice(start, start + SENTENCES_PER_PASS)
            embedded[part] = self.embed([[row] for row in rows[part]]).float().cpu().numpy()
        return embedded

    def save(self, folder: Path) -> None:
        """Write a `SentenceTransformer` folder: the base's modules and two dense layers, all stock, equal embeddings.

        Raises `UserError` over word vectors (see `savable`).
        """
        from trainables.encoders.export import save_adapted

        if not self.savable:
            raise UserError(
                "an adapter over word vectors cannot be saved: sentence-transformers splits words at punctuation "
                "where our averages do not, so a stock model would give other embeddings"
            )
        save_adapted(self, folder)

    @property
    def savable(self) -> bool:
        """Whether stock sentence-transformers modules can give these embeddings."""
        return not hasattr(self.base, "vectors")

    def _settle(self, name: str, value: Any) -> None:
        if not hasattr(self.base, name) or getattr(self.base, name) == value:
            return
        if self.store.settled:
            raise RuntimeError(f"{name} cannot change once the base's embeddings are in use")
        setattr(self.base, name, value)
