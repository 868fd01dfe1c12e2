"""Any finished sentence-transformers model, evaluated through its own pipeline (its pooling, dense layers, norms)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trainables.encoders import hub_errors
from trainables.recipe import EncoderConfig


class Pipeline:
    """For evaluation only: it has no parameters that our objectives could train."""

    def __init__(self, config: EncoderConfig, device: str | None = None) -> None:
        from sentence_transformers import SentenceTransformer

        self.model: Any = hub_errors(config.name, lambda: SentenceTransformer(config.name, device=device))
        self.dim = int(self.model.get_embedding_dimension())

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Float32 embeddings, in the order of the sentences."""
        return self.model.encode(list(sentences), batch_size=64, show_progress_bar=progress).astype(np.float32)
