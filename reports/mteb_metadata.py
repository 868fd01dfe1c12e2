"""What `mteb` wants to know of a model whose results are handed in: the fields of its `ModelMeta`.

    metadata(SentenceTransformer(folder), record)       # what `model_meta.json` beside the result files holds

What is not known here is None: whoever hands results in gives the model its name on the hub, revision, date, languages
and licence first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.ledger import Record
from trainables.encoders.model_card import hub_base

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

MODEL_META = "model_meta.json"
"""As `mteb` calls it."""


def metadata(model: SentenceTransformer, record: Record) -> dict[str, Any]:
    """The fields of `mteb.ModelMeta`, version 2.26, for the model of this trial, or for the encoder that it scored as
    it came."""
    encoder, trained = hub_base(str(record.recipe["encoder.name"])), record.checkpoint is not None
    weights = [*model.parameters()]
    return {
        "loader": "SentenceTransformerEncoderWrapper",
        "name": None if trained else encoder,
        "revision": None,
        "release_date": None,
        "languages": None,
        "n_parameters": sum(tensor.numel() for tensor in weights),
        "n_embedding_parameters": _embedding_parameters(model),
        "memory_usage_mb": round(sum(tensor.numel() * tensor.element_size() for tensor in weights) / 2**20),
        "max_tokens": model.get_max_seq_length(),
        "embed_dim": model.get_embedding_dimension(),
        "license": None,
        "open_weights": None,
        "public_training_code": None,
        "public_training_data": None,
        "framework": ["Sentence Transformers", "PyTorch", "safetensors"],
        "similarity_fn_name": model.similarity_fn_name,
        "use_instructions": any(model.prompts.values()),
        "training_datasets": None,  # also those of the encoder that it began with count, which nobody told us
        "adapted_from": encoder if trained else None,
        "modalities": ["text"],
        "model_type": ["dense"],
    }


def _embedding_parameters(model: SentenceTransformer) -> int | None:
    """Of the table of tokens, which is larger than those of positions and segments; None where there is none."""
    from torch import nn

    tables = [module.weight.numel() for module in model.modules() if isinstance(module, nn.Embedding | nn.EmbeddingBag)]
    return max(tables, default=None)
