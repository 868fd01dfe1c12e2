"""Write a trained encoder so that `SentenceTransformer(folder)` gives the same embeddings, without custom code.

sentence-transformers loads only its own module classes unless told to trust a folder's code, so every pooling
is expressed with stock modules: leaving [CLS] out of a mean is a word weight of 0 for that token, and
the mean of the first and the last layer is a weighted layer pooling.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from trainables.encoders.transformer import TransformerEncoder

STOCK_POOLING = {"mean": "mean", "mean_without_cls": "mean", "cls": "cls", "max": "max", "first_last_mean": "mean"}


def save_sentence_transformer(encoder: TransformerEncoder, folder: Path) -> None:
    """Replace `folder` by the encoder as a sentence-transformers model; half a model is never seen there."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    from trainables.encoders.transformer import quieten

    quieten()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        plain = Path(scratch) / "transformer"
        encoder.backbone.save_pretrained(plain)
        encoder.tokenizer.save_pretrained(plain)
        layers = encoder.mode == "first_last_mean"
        transformer = Transformer(
            str(plain), max_seq_length=encoder.max_length, config_kwargs={"output_hidden_states": layers}
        )
        modules: list[Any] = [transformer, *_adjustments(encoder), Pooling(encoder.dim, STOCK_POOLING[encoder.mode])]
        finished = Path(scratch) / "finished"
        SentenceTransformer(modules=modules, device="cpu").save(str(finished), create_model_card=False)
        if folder.exists():
            shutil.rmtree(folder)
        finished.rename(folder)


def _adjustments(encoder: TransformerEncoder) -> list[Any]:
    from sentence_transformers.sentence_transformer.modules import WeightedLayerPooling, WordWeights

    if encoder.mode == "mean_without_cls":
        # The module looks words up by id; naming them by it keeps a token that spells like [CLS] out of this.
        words = [str(index) for index in range(max(encoder.backbone.config.vocab_size, len(encoder.tokenizer)))]
        return [WordWeights(words, {str(encoder.tokenizer.cls_token_id): 0.0})]
    if encoder.mode == "first_last_mean":
        count = encoder.backbone.config.num_hidden_layers
        weights = torch.zeros(count)  # one for every layer's output, the embedding layer left out
        weights[0] += 1
        weights[-1] += 1
        pooling = WeightedLayerPooling(encoder.dim, num_hidden_layers=count, layer_start=1)
        pooling.layer_weights.data.copy_(weights)
        return [pooling]
    return []
