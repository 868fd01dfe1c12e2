"""Fingerprints of encoders, keys of the embedding store: sixteen hexadecimal digits of all that decides embeddings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_NO_DIFFERENCE = ("_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype")
"""Entries of a model's configuration that change no embedding, such as its source and the program that wrote it."""
_PATH_OPTIONS = ("name_or_path", "vocab_file", "merges_file", "tokenizer_file")


def digest(what: type, settings: Mapping[str, object], tensors: Iterable[tuple[str, Tensor | np.ndarray]]) -> str:
    """Return the digits of an encoder of the class `what`, from its settings and its named tensors, in any order."""
    state = hashlib.blake2b(digest_size=8)
    state.update(f"{what.__module__}.{what.__qualname__} ".encode())
    state.update(json.dumps(settings, sort_keys=True, default=repr).encode())
    for name, tensor in sorted(tensors, key=lambda item: item[0]):
        if ".pooler." in name:  # used by no pooling here; drawn at each loading if a checkpoint has none
            continue
        array = tensor.detach().cpu() if isinstance(tensor, Tensor) else torch.from_numpy(tensor)
        state.update(f" {name} {array.dtype} {tuple(array.shape)} ".encode())
        state.update(array.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return state.hexdigest()


def model_settings(backbone: PreTrainedModel) -> dict[str, object]:
    """Return a transformer's configuration, without entries that do not change its token states."""
    config = backbone.config.to_dict()
    return {
        "class": type(backbone).__name__,
        # The attention that was chosen for this machine; `to_dict` leaves it out.
        "attention": getattr(backbone.config, "_attn_implementation", None),
        **{name: value for name, value in config.items() if name not in _NO_DIFFERENCE},
    }


def tokenizer_settings(tokenizer: PreTrainedTokenizerBase | Tokenizer) -> dict[str, object]:
    """Return all settings of a tokenizer that decide token ids, such as vocabulary, normaliser and special tokens."""
    if isinstance(tokenizer, Tokenizer):
        parts = json.loads(tokenizer.to_str())
        return {name: part for name, part in parts.items() if name not in ("truncation", "padding")}
    state: dict[str, object] = {
        "class": type(tokenizer).__name__,
        "special tokens": {name: str(token) for name, token in tokenizer.special_tokens_map.items()},
        "truncation side": tokenizer.truncation_side,
    }
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is not None:
        return state | tokenizer_settings(fast)
    options = {name: value for name, value in tokenizer.init_kwargs.items() if name not in _PATH_OPTIONS}
    return state | {"vocabulary": tokenizer.get_vocab(), "options": options}
