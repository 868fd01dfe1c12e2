"""A Hugging Face transformer as a sentence encoder: tokens, states, pooling; length buckets instead of padding."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm
from transformers import AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from trainables.encoders.builtin import build
from trainables.encoders.contract import BaseEncoder, TokenEncoder
from trainables.encoders.export import save_transformer
from trainables.encoders.fingerprint import digest, model_settings, tokenizer_settings
from trainables.encoders.kinds import EncoderRequest
from trainables.encoders.loading import chosen_device, hub_errors, quieten, transformer_folder
from trainables.encoders.mlm_head import MLMHead
from trainables.encoders.passes import TOKENS_PER_PASS, autocast, length_buckets, token_states
from trainables.encoders.pipeline import load_pipeline
from trainables.encoders.pooling import POOLINGS
from trainables.encoders.precision import resolve_precision
from trainables.encoders.tokens import token_ids
from trainables.errors import UserError
from trainables.kept import KEPT, stamp
from trainables.recipe import SCENES_ENCODER, EncoderConfig, PoolingConfig
from trainables.registry import load


class TransformerEncoder(nn.Module):
    """Backbone, tokenizer and pooling; a `TokenEncoder`. `embed` is differentiable, `encode` is for evaluation."""

    def __init__(
        self,
        backbone: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        pooling: PoolingConfig,
        max_length: int,
        *,
        training_precision: torch.dtype = torch.float32,
        evaluation_precision: torch.dtype = torch.float32,
        mlm_head: MLMHead | None = None,
        fresh: Sequence[str] = (),
    ) -> None:
        """`mlm_head` trains the same backbone, and is not saved with it. `fresh` names the backbone's parameters that
        no checkpoint gave. With `pooling.padding` at `count`, `encode`
        averages padding in, as Liao's released code does: a sentence's embedding then depends on its batch."""
        super().__init__()
        self.backbone = backbone
        self.tokenizer = tokenizer
        self.mode = pooling.mode
        self.max_length = max_length
        self.training_precision, self.evaluation_precision = training_precision, evaluation_precision
        self.mlm_head = mlm_head
        kept = {name for name, _ in backbone.named_parameters()}  # a layer may have been cut off
        self.fresh = (
            *(f"backbone.{name}" for name in fresh if name in kept),
            *(f"mlm_head.head.{name}" for name in (mlm_head.fresh if mlm_head else ())),
        )
        entry = POOLINGS[pooling.mode]
        self.counts_padding = pooling.padding == "count" and entry.padded is not None
        self.pool = load(entry.function)
        self.evaluation_pool = load(entry.padded) if self.counts_padding else self.pool
        self.dim = int(backbone.config.hidden_size)

    @property
    def device(self) -> torch.device:
        return next(self.backbone.parameters()).device

    @property
    def unsavable(self) -> str | None:
        """Why stock modules cannot give its embeddings, or None. That padding is counted is no part of a saved model:
        it depends on the batch."""
        if POOLINGS[self.mode].stock is None:
            return f"the pooling {self.mode!r} cannot be written as modules of sentence-transformers"
        return None

    def fingerprint(self) -> str:
        """Sixteen digits of everything that decides what `encode` gives."""
        settings = {
            "pooling": self.mode,
            "padding counts": self.counts_padding,
            "longest": self.max_length,
            "precision": str(self.evaluation_precision),
            "model": model_settings(self.backbone),
            "tokenizer": tokenizer_settings(self.tokenizer),
        }
        return digest(type(self), settings, self.backbone.state_dict().items())

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        """Token ids of each sentence, special tokens included, cut at `max_length`."""
        return token_ids(self.tokenizer, sentences, self.max_length)

    @property
    def specials(self) -> int:
        """How many special tokens `wrap` adds."""
        return sum(map(len, self._around))

    def wrap(self, ids: Sequence[int]) -> list[int]:
        """A span's token ids with the tokenizer's special tokens around them; nothing is cut."""
        before, after = self._around
        return [*before, *ids, *after]

    @functools.cached_property
    def _around(self) -> tuple[list[int], list[int]]:
        # Fast tokenizers add special tokens to texts only, so a text shows where they go.
        inside = self.tokenizer("a", add_special_tokens=False)["input_ids"]
        whole = self.tokenizer("a", add_special_tokens=True)["input_ids"]
        start = next(i for i in range(len(whole)) if whole[i : i + len(inside)] == inside)
        return whole[:start], whole[start + len(inside) :]

    def embed(self, tokens: Sequence[Sequence[int]]) -> Tensor:  # (sentences, dim)
        """Embeddings of tokenized sentences, with gradient, in their order; in training precision."""
        lengths = [len(ids) for ids in tokens]
        buckets = length_buckets(lengths, TOKENS_PER_PASS[self.device.type])
        # One autocast for all passes, or each would keep its own bf16 copy of every weight.
        with autocast(self.device, self.training_precision):
            embedded = torch.cat([self.pool(*self._states([tokens[i] for i in bucket])) for bucket in buckets])
        order = torch.tensor([i for bucket in buckets for i in bucket], device=self.device)
        return embedded[torch.argsort(order)]

    @torch.inference_mode()
    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Float32 embeddings, longest sentences first through the model, without dropout; in evaluation precision."""
        was_training = self.training
        self.eval()
        tokens = self.tokenize(sentences)
        embedded = np.empty((len(tokens), self.dim), dtype=np.float32)
        bar = tqdm(total=len(tokens), desc="encode", unit="sentence", disable=not progress)
        with bar, autocast(self.device, self.evaluation_precision):
            for bucket in length_buckets([len(ids) for ids in tokens], TOKENS_PER_PASS[self.device.type]):
                pooled = self.evaluation_pool(*self._states([tokens[i] for i in bucket]))
                embedded[bucket] = pooled.float().cpu().numpy()
                bar.update(len(bucket))
        self.train(was_training)
        return embedded

    def save(self, folder: Path) -> None:
        """Write a `SentenceTransformer` folder: safetensors weights, stock modules only, equal embeddings."""
        if self.unsavable:
            raise UserError(f"the model cannot be saved: {self.unsavable}")
        save_transformer(self.backbone, self.tokenizer, self.mode, self.max_length, folder)

    def _states(self, tokens: Sequence[Sequence[int]]) -> tuple[tuple[Tensor, ...], Tensor]:
        filler = self.tokenizer.pad_token_id
        return token_states(self.backbone, tokens, filler, every_layer=POOLINGS[self.mode].every_layer)


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
