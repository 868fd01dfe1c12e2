"""Load a Hugging Face transformer as a sentence encoder, from the hub or a folder, or build the built-in one."""

from __future__ import annotations

import copy
from pathlib import Path

import torch
import transformers
from tokenizers import normalizers
from transformers import AutoConfig, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from trainables.encoders.builtin import build
from trainables.encoders.contract import BaseEncoder, TokenEncoder
from trainables.encoders.families import (
    FAMILIES,
    family_of,
    layer_list,
    longest_input,
    unfit_layers,
    unfit_pooling,
    unknown_family,
)
from trainables.encoders.kinds import EncoderRequest
from trainables.encoders.loading import SAFE_ARGUMENTS, chosen_device, load_safely, quieten, transformer_location
from trainables.encoders.mlm_head import MLMHead
from trainables.encoders.module_files import NO_LIMIT, lower_cases, modules, stated_length
from trainables.encoders.own_modules import own_model_end, pools_prompt
from trainables.encoders.pipeline import load_pipeline
from trainables.encoders.pooling import Mean, Pooling
from trainables.encoders.precision import DTYPES, resolve_evaluation_precision, resolve_precision
from trainables.encoders.prompts import Prompts
from trainables.encoders.transformer import TransformerEncoder
from trainables.errors import UserError, shown
from trainables.process_cache import PROCESS_CACHE, file_states
from trainables.recipe import SCENES_ENCODER, EncoderConfig


def load_transformer(request: EncoderRequest) -> BaseEncoder:
    """Load a transformer, or build the built-in one, with its first `config.layers` layers only.

    Without a given pooling, a sentence-transformers model keeps its own pipeline. A head for masked language modelling
    changes no embedding.
    """
    if request.pooling is None and modules(request.config.name):
        return load_pipeline(request)
    return _with_pooling(request, request.pooling or Mean())


def _with_pooling(request: EncoderRequest, pooling: Pooling) -> TokenEncoder:
    config = request.config
    # A head for masked language modelling depends on the random state after loading, so it needs an uncached load.
    backbone, tokenizer, fresh = (_load if request.masked_lm else load_cached)(config.name, DTYPES[config.dtype])
    _give_padding(tokenizer, config.name)
    if pooling.needs_cls and (tokenizer.cls_token_id is None or not family_of(backbone).cls):
        raise UserError(unfit_pooling(pooling.name, config.name))
    if config.layers is not None:
        _keep_layers(backbone, config)
    stated = stated_length(config.name)  # it takes precedence over the tokenizer's
    limit = stated if config.max_length is None else config.max_length
    usual = tokenizer.model_max_length if stated is None else None
    lengths = (limit, longest_input(backbone.config.to_dict()), usual)
    device = chosen_device(request.device)
    # Weights in bf16 cannot train in fp32; autocast still sums and normalises in fp32.
    precision = resolve_precision("bf16" if config.dtype == "bf16" else request.training_precision, device)
    encoder = TransformerEncoder(
        backbone,
        tokenizer,
        pooling,
        min(length for length in (*lengths, NO_LIMIT) if length is not None),
        training_precision=precision,
        evaluation_precision=resolve_evaluation_precision(request.evaluation_precision, device),
        mlm_head=MLMHead(backbone, tokenizer, config.name, precision) if request.masked_lm else None,
        fresh=fresh,
        prompts=Prompts(config.query_prompt or "", config.document_prompt or ""),
        model_end=own_model_end(config),
        pools_prompt=pools_prompt(config.name) or pooling.needs_prompt,
    )
    return encoder.to(device)


Loaded = tuple[PreTrainedModel, PreTrainedTokenizerBase, list[str]]
"""Backbone, tokenizer, and the names of the parameters that the checkpoint lacks."""


def load_cached(name: str, dtype: torch.dtype) -> Loaded:
    """Return a copy of the cached result of `_load`; the next trial does not read the files again."""

    def without_draws(loaded: Loaded) -> bool:
        backbone, _, fresh = loaded
        return not set(fresh) & {parameter for parameter, _ in backbone.named_parameters()}

    folder = Path(transformer_location(name)[0])
    files = file_states(folder) if folder.is_dir() else None  # None for a hub id
    return copy.deepcopy(
        PROCESS_CACHE.get(("transformer", name, dtype, files), lambda: _load(name, dtype), without_draws)
    )


def _load(name: str, dtype: torch.dtype) -> Loaded:
    if name != SCENES_ENCODER:
        return _from_pretrained(name, dtype)
    backbone, tokenizer = build()
    # The built-in weights are random but fixed, so they do not count as newly initialised.
    return backbone.to(dtype), tokenizer, []


def _from_pretrained(name: str, dtype: torch.dtype) -> Loaded:
    quieten()
    location, revision = transformer_location(name)

    def read() -> Loaded:
        config = AutoConfig.from_pretrained(location, revision=revision, trust_remote_code=False)
        if config.model_type not in FAMILIES:
            raise UserError("; ".join(unknown_family(name, config.model_type)))
        loader = getattr(transformers, FAMILIES[config.model_type].loader)
        backbone, report = loader.from_pretrained(
            location, revision=revision, dtype=dtype, **SAFE_ARGUMENTS, output_loading_info=True
        )
        if getattr(backbone, "pooler", None) is not None:
            backbone.pooler = None  # BERT's next-sentence layer: no pooling here uses it
        if FAMILIES[config.model_type].causal:
            backbone.config.use_cache = False  # a cache of keys and values is for generation only
        tokenizer = AutoTokenizer.from_pretrained(location, revision=revision, trust_remote_code=False)
        if lower_cases(name):
            _put_in_lower_case(tokenizer)
        _check_whole(backbone, tokenizer)
        return backbone, tokenizer, sorted(report["missing_keys"])

    return load_safely(name, read)


def _put_in_lower_case(tokenizer: PreTrainedTokenizerBase) -> None:
    """Lower-case texts before the tokenizer's own normaliser, also in a saved model."""
    backend = tokenizer.backend_tokenizer
    backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), *filter(None, [backend.normalizer])])


def _check_whole(backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Raise `ValueError` if the loaded parts cannot embed a sentence: complete files may not fit together."""
    if len(tokenizer) <= len(tokenizer.all_special_ids):  # transformers makes an empty one if files are missing
        raise ValueError("it has no tokenizer files")
    vocabulary = backbone.get_input_embeddings().num_embeddings
    last = max(tokenizer.get_vocab().values())
    if last >= vocabulary:
        raise ValueError(f"its tokenizer gives numbers up to {last}, and its weights know {vocabulary} tokens")
    for name, weights in backbone.named_parameters():
        if not weights.isfinite().all():
            raise ValueError(f"NaN or infinity among its weights {shown(name)}")
    tokens = tokenizer("a", return_tensors="pt")
    with torch.no_grad():
        states = backbone(tokens["input_ids"], attention_mask=tokens["attention_mask"]).last_hidden_state
    if not states.isfinite().all():
        raise ValueError("it gives NaN or infinity for a sentence")


def _give_padding(tokenizer: PreTrainedTokenizerBase, name: str) -> None:
    """Set a padding token if there is none, as for many decoders. It is never attended to, so any will do."""
    if tokenizer.pad_token_id is not None:
        return
    if tokenizer.eos_token_id is None:
        raise UserError(f"the tokenizer of {name!r} has no padding token, nor an end token to take its place")
    tokenizer.pad_token = tokenizer.eos_token


def _keep_layers(backbone: PreTrainedModel, config: EncoderConfig) -> None:
    assert config.layers is not None
    stack = layer_list(backbone)
    unfit = unfit_layers(config, len(stack) if stack is not None else 0)
    if stack is None or unfit:
        raise UserError(str(unfit))
    del stack[config.layers :]
    backbone.config.num_hidden_layers = config.layers  # each configuration maps it to its own name
    if getattr(backbone.config, "layer_types", None):  # of models that mix local and global attention
        backbone.config.layer_types = backbone.config.layer_types[: config.layers]
