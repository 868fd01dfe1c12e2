"""A Hugging Face transformer as a sentence encoder: tokens, states, pooling; length buckets instead of padding."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from trainables.encoders import hub_errors
from trainables.encoders.pool import padded_mean_without_cls
from trainables.encoders.pooling import POOLINGS
from trainables.errors import UserError
from trainables.recipe import SCENES_ENCODER, EncoderConfig, PoolingConfig
from trainables.registry import load

# One forward pass holds at most so many tokens, padding included.
TOKENS_PER_PASS = {"cpu": 4096, "cuda": 65536}


class TransformerEncoder(nn.Module):
    """Backbone, tokenizer and pooling. `embed` is differentiable, `encode` is for evaluation."""

    def __init__(self, backbone: Any, tokenizer: Any, mode: str, max_length: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.tokenizer = tokenizer
        self.mode = mode
        self.pool = load(POOLINGS[mode].function)
        self.max_length = max_length
        self.dim = int(backbone.config.hidden_size)
        self.precision = torch.float32
        self.padded_inference = False
        """Average padding in at inference, as Liao's released code does."""
        self.masked: Any = None
        """A `MaskedLM` where one was asked for: it trains the same backbone, and is not saved with it."""

    @classmethod
    def load(
        cls, config: EncoderConfig, pooling: PoolingConfig, *, device: str | None = None, masked_lm: bool = False
    ) -> TransformerEncoder:
        """From the hub, a folder, or made on the spot; with the first `config.layers` layers only.

        `masked_lm` adds the head for masked language modelling; the embeddings are the same with and without.
        """
        if config.name == SCENES_ENCODER:
            from trainables.encoders.builtin import build

            backbone, tokenizer = build()
        else:
            backbone, tokenizer = hub_errors(config.name, lambda: _from_pretrained(config.name))
        if tokenizer.pad_token_id is None:
            raise UserError(f"the tokenizer of {config.name!r} has no padding token; give one that has")
        if POOLINGS[pooling.mode].needs_cls and tokenizer.cls_token_id is None:
            raise UserError(f"pooling.mode {pooling.mode!r} needs a [CLS] token, which {config.name!r} has not")
        if config.layers is not None:
            _keep_layers(backbone, config)
        # RoBERTa has two positions more than it can use; only its tokenizer knows.
        longest = getattr(backbone.config, "max_position_embeddings", config.max_length)
        max_length = min(config.max_length, longest, tokenizer.model_max_length)
        encoder = cls(backbone, tokenizer, pooling.mode, max_length)
        if masked_lm:
            from trainables.encoders.mlm_head import MaskedLM

            encoder.masked = MaskedLM(encoder, config.name)
        return encoder.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))

    @property
    def device(self) -> torch.device:
        return next(self.backbone.parameters()).device

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        """Token ids of each sentence, special tokens included, cut at `max_length`."""
        if not sentences:
            return []
        return self.tokenizer(list(sentences), truncation=True, max_length=self.max_length, add_special_tokens=True)[
            "input_ids"
        ]

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
        """Embeddings of tokenized sentences, with gradient, in their order."""
        lengths = [len(ids) for ids in tokens]
        buckets = length_buckets(lengths, TOKENS_PER_PASS[self.device.type])
        with self.autocast():  # one for all passes, or each would keep its own bf16 copy of every weight
            embedded = torch.cat([self._forward([tokens[i] for i in bucket]) for bucket in buckets])
        order = torch.tensor([i for bucket in buckets for i in bucket], device=self.device)
        return embedded[torch.argsort(order)]

    @torch.inference_mode()
    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Float32 embeddings, longest sentences first through the model, in evaluation mode."""
        from tqdm import tqdm

        was_training = self.training
        self.eval()
        tokens = self.tokenize(sentences)
        embedded = np.empty((len(tokens), self.dim), dtype=np.float32)
        bar = tqdm(total=len(tokens), desc="encode", unit="sentence", disable=not progress)
        with bar, self.autocast():
            for bucket in length_buckets([len(ids) for ids in tokens], TOKENS_PER_PASS[self.device.type]):
                embedded[bucket] = self._forward([tokens[i] for i in bucket]).float().cpu().numpy()
                bar.update(len(bucket))
        self.train(was_training)
        return embedded

    def save(self, folder: Path) -> None:
        """Write a `SentenceTransformer` folder: safetensors weights, stock modules only, equal embeddings."""
        from trainables.encoders.export import save_sentence_transformer

        save_sentence_transformer(self, folder)

    def states(self, tokens: Sequence[Sequence[int]]) -> tuple[tuple[Tensor, ...], Tensor]:
        """Token states of one padded pass, and the mask of real tokens, (sentences, tokens); to be asked in `autocast`.

        The states are those of the last layer, or of all where the pooling wants more, each (sentences, tokens, dim).
        """
        ids = padded(tokens, self.tokenizer.pad_token_id).to(self.device)
        mask = padded([[1] * len(row) for row in tokens], 0).to(self.device)
        layers = POOLINGS[self.mode].every_layer
        output = self.backbone(input_ids=ids, attention_mask=mask, output_hidden_states=layers)
        states = output.hidden_states if layers else (output.last_hidden_state,)
        # bf16 states are summed in fp32: a mean over many tokens loses digits otherwise.
        low = self.precision != torch.float32
        return tuple(state.float() if low else state for state in states), mask

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """Inside, matrix products are computed in `precision`."""
        if self.precision == torch.float32:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=self.precision)

    def _forward(self, tokens: Sequence[Sequence[int]]) -> Tensor:  # (sentences, dim)
        states, mask = self.states(tokens)
        released = self.padded_inference and not self.training and self.mode == "mean_without_cls"
        return (padded_mean_without_cls if released else self.pool)(states, mask)


def padded(rows: Sequence[Sequence[int]], filler: int) -> Tensor:  # (rows, longest) int64
    """Rows of numbers as one tensor, the short ones filled up."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows])


def length_buckets(lengths: Sequence[int], tokens_per_pass: int) -> list[list[int]]:
    """Indices longest first, cut into passes that hold few padding tokens and at most `tokens_per_pass` in all.

    A pass ends where the next sentence is shorter than three quarters of its longest one, unless the pass is
    still so small that one more would cost more than the padding.
    """
    buckets: list[list[int]] = []
    longest = 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        current = buckets[-1] if buckets else []
        full = (len(current) + 1) * longest > tokens_per_pass
        wasteful = lengths[index] < 0.75 * longest and len(current) * longest >= tokens_per_pass // 8
        if not current or full or wasteful:
            buckets.append([index])
            longest = lengths[index]
        else:
            current.append(index)
    return buckets


def _from_pretrained(name: str) -> tuple[Any, Any]:
    from transformers import AutoModel, AutoTokenizer

    quieten()
    name = transformer_folder(name)
    # Said outright, for otherwise transformers would ask on the console whether to run a model's own code.
    backbone = AutoModel.from_pretrained(name, dtype=torch.float32, trust_remote_code=False)
    if getattr(backbone, "pooler", None) is not None:
        backbone.pooler = None  # BERT's next-sentence layer: no pooling here uses it
    tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    if len(tokenizer) <= len(tokenizer.all_special_ids):  # transformers makes an empty one where the files are missing
        raise UserError(f"the encoder {name!r} has no tokenizer files")
    return backbone, tokenizer


def transformer_folder(name: str) -> str:
    """Where the plain transformer lies: old sentence-transformers models have it one folder down."""
    inner = Path(name) / "0_Transformer"
    return str(inner) if inner.is_dir() else name


def quieten() -> None:
    """No progress bars of transformers on the console, and no reports of weights that a checkpoint lacks."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def _keep_layers(backbone: Any, config: EncoderConfig) -> None:
    assert config.layers is not None
    stack = getattr(getattr(backbone, "encoder", backbone), "layer", None)
    if stack is None:
        stack = getattr(getattr(backbone, "transformer", None), "layer", None)
    if stack is None or config.layers > len(stack):
        has = f"{len(stack)} layers" if stack is not None else "layers that cannot be counted"
        raise UserError(f"encoder.layers is {config.layers}, but {config.name!r} has {has}")
    del stack[config.layers :]
    setattr(backbone.config, "n_layers" if hasattr(backbone.config, "n_layers") else "num_hidden_layers", config.layers)
