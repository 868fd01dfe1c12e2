"""Encoders, which map each sentence to one vector. `load_encoder` loads any of them.

`contract.py` defines the methods of an encoder, `kinds.py` the kinds and how to add one. Importing this package is
light: an encoder's libraries are imported when it is loaded.
"""

from __future__ import annotations

from trainables.encoders.check import available, check_encoder, check_trainable, finished_kind
from trainables.encoders.contract import BaseEncoder, trainable
from trainables.encoders.kinds import ENCODERS, EncoderRequest, Precision
from trainables.encoders.pooling import Pooling
from trainables.keys import Options
from trainables.recipe import EncoderConfig
from trainables.registry import load

__all__ = ["ENCODERS", "available", "check_encoder", "check_trainable", "finished_kind", "load_encoder", "trainable"]


def load_encoder(
    config: EncoderConfig,
    pooling: Pooling | None = None,
    *,
    device: str | None = None,
    masked_lm: bool = False,
    training_precision: Precision = "auto",
    evaluation_precision: Precision = "fp32",
    options: Options | None = None,
) -> BaseEncoder:
    """Load the encoder that a recipe names onto `device` (None: a GPU if there is one).

    With `pooling=None` a sentence-transformers model keeps its own pipeline and any other transformer takes the mean.
    With `masked_lm=True` an encoder with tokens gets a head for masked language modelling, `encoder.mlm_head`.
    `options` are the keys of the encoder's kind, if it has any. Raises `UserError` if the encoder cannot be loaded.
    """
    precisions = training_precision, evaluation_precision
    request = EncoderRequest(config, pooling, device, masked_lm, *precisions, options)
    encoder: BaseEncoder = load(ENCODERS[config.kind].loader)(request)
    return encoder
