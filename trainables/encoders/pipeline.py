"""Any finished sentence-transformers model, evaluated through its own pipeline (its pooling, dense layers, norms)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from trainables.encoders.check import check_encoder
from trainables.encoders.contract import BaseEncoder
from trainables.encoders.export import save_pipeline
from trainables.encoders.fingerprint import digest, model_settings, tokenizer_settings
from trainables.encoders.kinds import EncoderRequest
from trainables.encoders.loading import load_safely
from trainables.encoders.precision import Numbers, computing, resolve_evaluation_precision
from trainables.hub_names import on_hub

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


class Pipeline:
    """A model as sentence-transformers runs it; a `BaseEncoder`, for evaluation only.

    The longest input is the model's own, whatever `encoder.max_length` is. Weights are loaded as fp32, which is exact;
    the recipe sets the precision of the computation.
    """

    unsavable = None

    def __init__(
        self, model: SentenceTransformer, evaluation_precision: Numbers = torch.float32, prompt: str | None = None
    ) -> None:
        """`prompt` is put before each sentence; None: the model's default prompt."""
        self.model = model
        self.evaluation_precision = evaluation_precision
        self.prompt = prompt
        self.dim = int(model.get_embedding_dimension())

    @property
    def device(self) -> torch.device:
        return torch.device(self.model.device)

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Return float32 embeddings, in the order of the sentences."""
        if not sentences:
            return np.empty((0, self.dim), dtype=np.float32)
        with computing(self.device, self.evaluation_precision):
            embedded: np.ndarray = self.model.encode(
                list(sentences), prompt=self.prompt, batch_size=64, show_progress_bar=progress
            )
        return embedded.astype(np.float32)

    @property
    def for_documents(self) -> Pipeline | None:
        """The same model with its document prompt; None if that equals its default prompt."""
        prompts = self.model.prompts
        document = prompts.get("document") or prompts.get("passage") or ""
        if document == (prompts.get(self.model.default_prompt_name or "") or ""):
            return None
        return Pipeline(self.model, self.evaluation_precision, document)

    def fingerprint(self) -> str:
        """Return sixteen digits of everything that decides what `encode` returns, poolings and prompts included."""
        model, first = self.model, self.model[0]
        settings = {
            "stages": [(type(stage).__name__, _settings(stage)) for stage in model],
            "prompts": (model.prompts, model.default_prompt_name),
            **({} if self.prompt is None else {"prompt": self.prompt}),
            "longest": model.max_seq_length,
            **({} if model.truncate_dim is None else {"width": model.truncate_dim}),
            "precision": str(self.evaluation_precision),
            "model": model_settings(first.auto_model) if hasattr(first, "auto_model") else None,
            "tokenizer": tokenizer_settings(model.tokenizer),
        }
        return digest(type(self), settings, model.state_dict().items())

    def save(self, folder: Path) -> None:
        """Write the unchanged model."""
        save_pipeline(self.model, folder)


def load_pipeline(request: EncoderRequest) -> BaseEncoder:
    """Load a model from the hub or a folder; code of the model is never run. Raises `UserError` if the model cannot be
    loaded, or is a plain transformer."""
    config = request.config
    check_encoder(config)
    from sentence_transformers import SentenceTransformer

    location, revision = on_hub(config.name)

    def read() -> Pipeline:
        model = SentenceTransformer(location, revision=revision, device=request.device, trust_remote_code=False)
        pipeline = Pipeline(model.float(), resolve_evaluation_precision(request.evaluation_precision, model.device))
        if not np.isfinite(pipeline.encode(["a"])).all():  # as a router without a default route does
            raise ValueError("it gives NaN or infinity for a sentence")
        return pipeline

    return load_safely(config.name, read)


def _settings(stage: object) -> object:
    config = getattr(stage, "get_config_dict", None)
    return config() if config else None
