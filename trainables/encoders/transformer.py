"""A Hugging Face transformer as a sentence encoder: tokens, states, pooling."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from trainables.encoders.contract import check_savable
from trainables.encoders.export import save_transformer
from trainables.encoders.fingerprint import digest, model_settings, tokenizer_settings
from trainables.encoders.mlm_head import MLMHead
from trainables.encoders.own_modules import PLAIN, ModelEnd
from trainables.encoders.passes import Passes
from trainables.encoders.pooling import Pooling
from trainables.encoders.precision import Numbers, computing, full_weights
from trainables.encoders.prompts import NO_PROMPTS, Prompts
from trainables.encoders.tokens import distinct, kept_token_ids, token_ids
from trainables.to_device import to_device


class TransformerEncoder(nn.Module):
    """Backbone, tokenizer and pooling; a `TokenEncoder`. `embed` is differentiable, `encode` is for evaluation."""

    def __init__(
        self,
        backbone: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        pooling: Pooling,
        max_length: int,
        *,
        training_precision: torch.dtype = torch.float32,
        evaluation_precision: Numbers = torch.float32,
        mlm_head: MLMHead | None = None,
        fresh: Sequence[str] = (),
        prompts: Prompts = NO_PROMPTS,
        model_end: ModelEnd = PLAIN,
        pools_prompt: bool = True,
    ) -> None:
        """`mlm_head` trains the same backbone and is not saved. `fresh`: the backbone's newly initialised parameters.
        `model_end`: the end of a saved model. `pools_prompt`: whether a prompt's tokens are pooled."""
        super().__init__()
        self.backbone = backbone
        self.tokenizer = tokenizer
        self._passes = Passes(backbone, tokenizer.pad_token_id)
        self.pooling = pooling
        self.max_length = max_length
        self.prompts, self.model_end, self.pools_prompt = prompts, model_end, pools_prompt
        self._prompt_tokens: dict[str, list[int]] = {}  # a prompt's tokens and those before it, if they are not pooled
        for prompt in (prompts.query, prompts.document):
            self._store_prompt_tokens(prompt)
        self.training_precision, self.evaluation_precision = training_precision, evaluation_precision
        self.mlm_head = mlm_head
        parameters = {name for name, _ in backbone.named_parameters()}  # a layer may have been cut off
        self.fresh = (
            *(f"backbone.{name}" for name in fresh if name in parameters),
            *(f"mlm_head.head.{name}" for name in (mlm_head.fresh if mlm_head else ())),
        )
        self.dim = int(backbone.config.hidden_size)

    @property
    def device(self) -> torch.device:
        return next(self.backbone.parameters()).device

    @property
    def for_documents(self) -> TransformerEncoder | None:
        """The same weights with the document prompt before every sentence; None if it equals the query prompt."""
        if not self.prompts.differ:
            return None
        documents = copy.copy(self)
        documents.prompts = Prompts(self.prompts.document, self.prompts.document)
        return documents

    @property
    def unsavable(self) -> str | None:
        """Why stock modules cannot give the embeddings; None if they can. A saved model never counts padding."""
        if self.pooling.stock is None:
            return f"the pooling {self.pooling.name!r} cannot be written as modules of sentence-transformers"
        return None

    def fingerprint(self) -> str:
        """Return sixteen hexadecimal digits of everything that decides what `encode` returns."""
        keys = {name: value for name, value in dataclasses.asdict(self.pooling).items() if name != "padding"}
        settings = {
            "pooling": self.pooling.name,
            "padding counts": self.pooling.counts_padding,
            "longest": self.max_length,
            "precision": str(self.evaluation_precision),
            "model": model_settings(self.backbone),
            "tokenizer": tokenizer_settings(self.tokenizer),
            **({"prompts": dataclasses.asdict(self.prompts)} if self.prompts else {}),
            **({"pooling's keys": keys} if keys else {}),
            **({} if self.pools_prompt else {"prompt pooled": False}),
        }
        return digest(type(self), settings, self.backbone.state_dict().items())

    def tokenize(self, sentences: Sequence[str], prompt: str | None = None) -> list[list[int]]:
        """Return token ids of each sentence after a prompt, special tokens included, cut at `max_length`.

        `prompt` is the query prompt by default. A sentence without tokens becomes one padding token.
        """
        return self._tokenized(token_ids, sentences, self.prompts.query if prompt is None else prompt)

    def _tokenized(self, how: Callable[..., list[list[int]]], sentences: Sequence[str], prompt: str) -> list[list[int]]:
        self._store_prompt_tokens(prompt)
        texts = [f"{prompt}{sentence}" for sentence in sentences] if prompt else sentences
        return [ids or [self.tokenizer.pad_token_id] for ids in how(self.tokenizer, texts, self.max_length)]

    def _store_prompt_tokens(self, prompt: str) -> None:
        if prompt and not self.pools_prompt and prompt not in self._prompt_tokens:
            (alone,) = token_ids(self.tokenizer, [prompt], self.max_length)
            self._prompt_tokens[prompt] = alone[: len(alone) - (alone[-1] in self.tokenizer.all_special_ids)]

    @property
    def specials(self) -> int:
        """Number of special tokens that `wrap` adds."""
        return sum(map(len, self._special_tokens))

    def wrap(self, ids: Sequence[int]) -> list[int]:
        """Return a span's token ids with the tokenizer's special tokens around them; nothing is cut."""
        before, after = self._special_tokens
        return [*before, *ids, *after]

    @functools.cached_property
    def _special_tokens(self) -> tuple[list[int], list[int]]:
        # Fast tokenizers add special tokens to texts only, so a text shows where they go.
        inside = self.tokenizer("a", add_special_tokens=False)["input_ids"]
        whole = self.tokenizer("a", add_special_tokens=True)["input_ids"]
        start = next(i for i in range(len(whole)) if whole[i : i + len(inside)] == inside)
        return whole[:start], whole[start + len(inside) :]

    def embed(self, tokens: Sequence[Sequence[int]]) -> Tensor:  # (sentences, dim)
        """Return embeddings of tokenized sentences, with gradient, in the same order, in training precision."""
        passes = self.passes([len(ids) for ids in tokens])
        # Once for all passes, or each would keep its own bf16 copy of every weight.
        with computing(self.device, self.training_precision):
            embedded = torch.cat([self._pooled([tokens[i] for i in indices]) for indices in passes])
        order = torch.tensor([i for indices in passes for i in indices])
        return embedded[to_device(order.argsort(), self.device)]

    def passes(self, lengths: Sequence[int], most: int | None = None) -> list[list[int]]:
        """Return the indices of sentences in each pass of `embed`; see `Passes.cut`."""
        return self._passes.cut(lengths, most)

    @torch.inference_mode()
    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:  # (sentences, dim)
        """Return float32 embeddings in the order of the sentences, without dropout, in evaluation precision.

        Long sentences are encoded first, and sentences with equal tokens once.
        """
        was_training = self.training
        self.eval()
        packed = not self.pooling.counts_padding  # packed passes have no padding to count
        token_ids = self._tokenized(kept_token_ids, sentences, self.prompts.query)
        # counted padding makes a sentence's embedding depend on its batch, so duplicates stay
        tokens, indices = distinct(token_ids) if packed else (token_ids, np.arange(len(token_ids)))
        embedded = np.empty((len(tokens), self.dim), dtype=np.float32)
        bar = tqdm(total=len(tokens), desc="encode", unit="sentence", disable=not progress)
        with bar, full_weights(self.backbone), computing(self.device, self.evaluation_precision):
            ahead = self._passes.cut([len(ids) for ids in tokens], packed=packed)[::-1]
            while ahead:
                now = ahead.pop()
                try:
                    some = [tokens[i] for i in now]
                    pooled = (
                        self._pooled(some)
                        if packed
                        else self.pooling.pool_for_evaluation(*self._passes.padded_states(some))
                    )
                    embedded[now] = pooled.float().cpu().numpy()
                except torch.OutOfMemoryError:  # another trial may have taken its share of the GPU meanwhile
                    if len(now) == 1 or not packed:  # a smaller pass would count other padding
                        raise
                    ahead += [now[len(now) // 2 :], now[: len(now) // 2]]
                    continue
                bar.update(len(now))
        self.train(was_training)
        return embedded if len(tokens) == len(indices) else embedded[indices]

    def save(self, folder: Path) -> None:
        """Write a `SentenceTransformer` folder: safetensors weights, stock modules only, equal embeddings, except for
        their length if the end of the model has a norm."""
        check_savable(self)
        parts = self.backbone, self.tokenizer, self.pooling, self.max_length, self.prompts, self.model_end
        save_transformer(*parts, folder, pools_prompt=self.pools_prompt)

    def _pooled(self, tokens: Sequence[Sequence[int]]) -> Tensor:  # (sentences, dim)
        states, lengths = self._passes.states(tokens, self.pooling.every_layer)
        if self._prompt_tokens:
            skipped = list(map(self._prompt_length, tokens))
            masks = [torch.arange(len(row)) >= skip for row, skip in zip(tokens, skipped, strict=True)]
            indices = to_device(torch.cat(masks).nonzero().squeeze(1), self.device)
            states, lengths = tuple(state[indices] for state in states), lengths - torch.tensor(skipped)
        return self.pooling.pool_row(states, lengths)

    def _prompt_length(self, tokens: Sequence[int]) -> int:
        """Return the number of a sentence's tokens up to the end of its prompt; at least one token is left. As in
        sentence-transformers, this is the prompt's own number of tokens: its last token may differ in a sentence."""
        least = len(self._special_tokens[0]) + 1
        for before in self._prompt_tokens.values():
            sure = min(len(before), max(least, len(before) - 1))
            if [*tokens[:sure]] == before[:sure]:
                return min(len(before), len(tokens) - 1)
        return 0
