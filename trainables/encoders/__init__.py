"""Encoders: sentences in, one vector each out. `load_encoder` gives any of them.

`contract.py` says what an encoder offers, `kinds.py` which kinds there are and how to add one. Importing this package
is light; the libraries behind an encoder load with it.
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
    """The encoder that a recipe names, on `device` (None: a GPU where there is one).

    With `pooling=None` a sentence-transformers model keeps its own pipeline and any other transformer
    takes the mean. With `masked_lm=True` an encoder with tokens gets a head for masked language modelling,
    `encoder.mlm_head`. `options` are the keys of a kind that has some of its own. Raises `UserError` where the encoder
    cannot be had.
    """
    precisions = training_precision, evaluation_precision
    request = EncoderRequest(config, pooling, device, masked_lm, *precisions, options)
    encoder: BaseEncoder = load(ENCODERS[config.kind].loader)(request)
    return encoder
