"""Token ids of sentences. Those of an evaluation can be cached, because the next trial needs them, too."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from trainables.encoders.fingerprint import tokenizer_settings
from trainables.process_cache import PROCESS_CACHE

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MIN_CACHED_SENTENCES = 1000
"""From this number of sentences on, tokens are cached; fewer are tokenized as fast as they are found in the cache."""


def kept_token_ids(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str], longest: int) -> list[list[int]]:
    """Return the result of `token_ids`, cached for sentences that are encoded again."""
    if len(sentences) < MIN_CACHED_SENTENCES:
        return token_ids(tokenizer, sentences, longest)

    def flat() -> tuple[np.ndarray, np.ndarray]:  # smaller than lists, and never changed by callers
        ids = token_ids(tokenizer, sentences, longest)
        numbers = np.array([token for row in ids for token in row], dtype=np.int32)
        return numbers, np.cumsum([0, *map(len, ids)])

    digest = hashlib.blake2b(json.dumps(tokenizer_settings(tokenizer), sort_keys=True, default=repr).encode())
    for sentence in sentences:
        digest.update(sentence.encode(errors="surrogatepass") + b"\0")
    numbers, ends = PROCESS_CACHE.get(("tokens", digest.digest(), longest), flat)
    ids, bounds = numbers.tolist(), ends.tolist()
    return [ids[start:end] for start, end in pairwise(bounds)]


def token_ids(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str], longest: int) -> list[list[int]]:
    """Return token ids of each sentence, special tokens included, cut at `longest`."""
    if not sentences:
        return []
    if tokenizer.is_fast:  # called directly it takes a third of the time: no masks, no joint table
        inner: Any = tokenizer.backend_tokenizer
        inner.no_padding()
        inner.enable_truncation(longest, direction=tokenizer.truncation_side)
        return [encoding.ids for encoding in inner.encode_batch_fast(list(sentences), add_special_tokens=True)]
    ids: list[list[int]] = tokenizer(
        list(sentences), truncation=True, max_length=longest, return_attention_mask=False, return_token_type_ids=False
    )["input_ids"]
    return ids


def distinct(tokens: Sequence[Sequence[int]]) -> tuple[list[Sequence[int]], np.ndarray]:
    """Return each distinct row of token ids, and each row's index among them, (rows,). Sentences that differ only in
    case, in spaces, or after the longest input may have equal tokens."""
    numbers: dict[tuple[int, ...], int] = {}
    indices = [numbers.setdefault(tuple(ids), len(numbers)) for ids in tokens]
    return list(numbers), np.array(indices, dtype=np.intp)
