"""CLSR's encoder: a frozen base, whose embeddings are computed once, and a small trained network on top of the base."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from trainables.encoders.contract import BaseEncoder, check_savable
from trainables.encoders.embedding_store import EmbeddingStore
from trainables.encoders.export import save_adapted
from trainables.encoders.fingerprint import digest
from trainables.encoders.passes import full_passes

OUTPUTS = 768
SENTENCES_PER_PASS = 4096


class AdaptedEncoder(nn.Module):
    """`e` of Qiu 2022, section 3: "a simple Multi-Layer Perceptron (MLP) with 1 hidden layer and ReLU nonlinearity on
    the output". Both layers have the base's size, but the output has at most 768 ("a 768-dimensional output layer").

    The paper does not name the activation of the hidden layer. Without one the two linear layers would equal one layer,
    so it is ReLU, too. No number of an embedding is negative.

    `tokenize` maps a sentence to one number: its row in the store of base embeddings. The base computes in evaluation
    precision, is in no state dict and gets no gradient; the adapter is float32.
    """

    base: BaseEncoder
    """The frozen encoder."""

    def __init__(self, base: BaseEncoder, folder: Path | None = None, *, store: EmbeddingStore | None = None) -> None:
        """Initialise the adapter's weights randomly. `folder` stores the base's embeddings (None: a temporary folder,
        removed with this object). Adapters over one base can share the `store` of the first."""
        super().__init__()
        if isinstance(base, nn.Module):
            base.eval().requires_grad_(False)
        vars(self)["base"] = base  # bypasses nn.Module, which would register a submodule
        self.store = store or EmbeddingStore(base, folder)
        self.dim = min(base.dim, OUTPUTS)
        self.adapter = nn.Sequential(nn.Linear(base.dim, base.dim), nn.ReLU(), nn.Linear(base.dim, self.dim), nn.ReLU())
        self.to(base.device)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def unsavable(self) -> str | None:
        """Why modules of sentence-transformers cannot give the base's embeddings; None if they can."""
        return self.base.unsavable

    @property
    def fresh(self) -> tuple[str, ...]:
        """Names of the randomly initialised parameters: the base's `fresh` ones and all of the adapter's."""
        return *getattr(self.base, "fresh", ()), *(name for name, _ in self.named_parameters())

    def fingerprint(self) -> str:
        """Return sixteen hexadecimal digits of the base's fingerprint and the adapter's weights."""
        return digest(type(self), {"base": self.base.fingerprint()}, self.state_dict().items())

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        """Return one number for each sentence: its row in the store. Sentences that the store lacks are encoded first,
        so pass all sentences of a training once, before the batches."""
        return [[row] for row in self.store.rows(sentences).tolist()]

    def embed(self, tokens: Sequence[Sequence[int]]) -> Tensor:  # (sentences, dim)
        """Return embeddings of tokenized sentences, with gradient, in the same order."""
        rows = np.array([row for (row,) in tokens], dtype=np.int64)
        base = torch.from_numpy(self.store.take(rows))
        return self.adapter(base.to(next(self.parameters())))

    def passes(self, lengths: Sequence[int], most: int | None = None) -> list[list[int]]:
        """Return the indices of sentences in each pass of at most `most` sentences; None: one pass of all, because a
        sentence is only one number."""
        return full_passes(lengths, most or len(lengths))

    @torch.inference_mode()
    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Return float32 embeddings, in the order of the sentences."""
        self.store.progress = progress
        rows = self.store.rows(sentences)
        embedded = np.empty((len(rows), self.dim), dtype=np.float32)
        for start in range(0, len(rows), SENTENCES_PER_PASS):
            part = slice(start, start + SENTENCES_PER_PASS)
            embedded[part] = self.embed([[row] for row in rows[part]]).float().cpu().numpy()
        return embedded

    def save(self, folder: Path) -> None:
        """Write a `SentenceTransformer` folder with equal embeddings: the base's modules and two dense layers."""
        check_savable(self)
        linear = [layer for layer in self.adapter if isinstance(layer, nn.Linear)]
        save_adapted(self.base.save, self.store.folder / "model", linear, folder)
