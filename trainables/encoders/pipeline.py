"""Any finished sentence-transformers model, evaluated through its own pipeline (its pooling, dense layers, norms)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trainables.encoders import check_encoder, hub_errors
from trainables.recipe import EncoderConfig


class Pipeline:
    """For evaluation only: it has no parameters that our objectives could train.

    The longest input, too, is the model's own, whatever `encoder.max_length` says. Code that a model brings
    along is never run. Raises `UserError` where the model cannot be had or is a plain transformer.
    """

    def __init__(self, config: EncoderConfig, device: str | None = None) -> None:
        check_encoder(config)
        from sentence_transformers import SentenceTransformer

        self.model: Any = hub_errors(
            config.name, lambda: SentenceTransformer(config.name, device=device, trust_remote_code=False)
        )
        self.dim = int(self.model.get_embedding_dimension())

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Float32 embeddings, in the order of the sentences."""
        if not sentences:
            return np.empty((0, self.dim), dtype=np.float32)
        return self.model.encode(list(sentences), batch_size=64, show_progress_bar=progress).astype(np.float32)
