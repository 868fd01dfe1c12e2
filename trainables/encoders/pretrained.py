"""Loading a Hugging Face transformer as a sentence encoder: from the hub, a folder, or made on the spot."""

from __future__ import annotations

import copy
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from trainables.encoders.builtin import build
from trainables.encoders.contract import BaseEncoder, TokenEncoder
from trainables.encoders.kinds import EncoderRequest
from trainables.encoders.loading import chosen_device, hub_errors, quieten, transformer_folder
from trainables.encoders.mlm_head import MLMHead
from trainables.encoders.pipeline import load_pipeline
from trainables.encoders.pooling import POOLINGS
from trainables.encoders.precision import resolve_precision
from trainables.encoders.transformer import TransformerEncoder
from trainables.errors import UserError
from trainables.kept import KEPT, stamp
from trainables.recipe import SCENES_ENCODER, EncoderConfig, PoolingConfig


def load_transformer(request: EncoderRequest) -> BaseEncoder:
    """From the hub, a folder, or made on the spot; with the first `config.layers` layers only.

    Where no pooling is asked for, a folder of sentence-transformers keeps its own pipeline. A head for masked language
    modelling changes no embedding.
    """
    if request.pooling is None and (Path(request.config.name) / "modules.json").is_file():
        return load_pipeline(request)
    return _with_pooling(request, request.pooling or PoolingConfig("mean"))


def _with_pooling(request: EncoderRequest, pooling: PoolingConfig) -> TokenEncoder:
    config = request.config
    # A head for masked language modelling is drawn from where loading leaves the random stream.
    backbone, tokenizer, fresh = (_load if request.masked_lm else _pristine)(config.name)
    if tokenizer.pad_token_id is None:
        raise UserError(f"the tokenizer of {config.name!r} has no padding token; give one that has")
    if POOLINGS[pooling.mode].needs_cls and tokenizer.cls_token_id is None:
        raise UserError(f"pooling.mode {pooling.mode!r} needs a [CLS] token, which {config.name!r} has not")
    if config.layers is not None:
        _keep_layers(backbone, config)
    # RoBERTa has two positions more than it can use; only its tokenizer knows.
    longest = getattr(backbone.config, "max_position_embeddings", config.max_length)
    device = chosen_device(request.device)
    precision = resolve_precision(request.training_precision, device)
    encoder = TransformerEncoder(
        backbone,
        tokenizer,
        pooling,
        min(config.max_length, longest, tokenizer.model_max_length),
        training_precision=precision,
        evaluation_precision=resolve_precision(request.evaluation_precision, device),
        mlm_head=MLMHead(backbone, tokenizer, config.name, precision) if request.masked_lm else None,
        fresh=fresh,
    )
    return encoder.to(device)


Loaded = tuple[PreTrainedModel, PreTrainedTokenizerBase, list[str]]
"""Backbone, tokenizer, and the names of the parameters that the checkpoint lacks."""


def _pristine(name: str) -> Loaded:
    """What `_load` gives, as a copy of the trial's own; the next trial need not read the files again."""

    def without_draws(loaded: Loaded) -> bool:
        backbone, _, fresh = loaded
        return not set(fresh) & {parameter for parameter, _ in backbone.named_parameters()}

    folder = Path(transformer_folder(name))
    files = stamp(folder) if folder.is_dir() else None  # a name of the hub
    return copy.deepcopy(KEPT.get(("transformer", name, files), lambda: _load(name), without_draws))


def _load(name: str) -> Loaded:
    # The built-in weights are drawn, too, but always the same ones, as if they came from a checkpoint.
    return (*build(), []) if name == SCENES_ENCODER else _from_pretrained(name)


def _from_pretrained(name: str) -> Loaded:
    quieten()
    folder = transformer_folder(name)

    def read() -> Loaded:
        # Said outright, for otherwise transformers would ask on the console whether to run a model's own code.
        backbone, report = AutoModel.from_pretrained(
            folder, dtype=torch.float32, trust_remote_code=False, output_loading_info=True
        )
        if getattr(backbone, "pooler", None) is not None:
            backbone.pooler = None  # BERT's next-sentence layer: no pooling here uses it
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        return backbone, tokenizer, sorted(report["missing_keys"])

    backbone, tokenizer, fresh = hub_errors(name, read)
    if len(tokenizer) <= len(tokenizer.all_special_ids):  # transformers makes an empty one where the files are missing
        raise UserError(f"the encoder {name!r} has no tokenizer files")
    return backbone, tokenizer, fresh


def _keep_layers(backbone: PreTrainedModel, config: EncoderConfig) -> None:
    assert config.layers is not None
    stack = getattr(getattr(backbone, "encoder", backbone), "layer", None)
    if stack is None:
        stack = getattr(getattr(backbone, "transformer", None), "layer", None)
    if stack is None or config.layers > len(stack):
        has = f"{len(stack)} layers" if stack is not None else "layers that cannot be counted"
        raise UserError(f"encoder.layers is {config.layers}, but {config.name!r} has {has}")
    del stack[config.layers :]
    setattr(backbone.config, "n_layers" if hasattr(backbone.config, "n_layers") else "num_hidden_layers", config.layers)
