"""Poolings as modules of sentence-transformers, which come after its `Transformer`: what a saved model is made of.

sentence-transformers loads only its own module classes unless told to trust a folder's code. Each function takes the
size of a token's state, the number of layers, and the tokenizer.
"""

from __future__ import annotations

import torch
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Pooling, WeightedLayerPooling
from torch import nn
from transformers import PreTrainedTokenizerBase


def mean(dim: int, layers: int, tokenizer: PreTrainedTokenizerBase) -> list[nn.Module]:
    return [Pooling(dim, "mean")]


def cls(dim: int, layers: int, tokenizer: PreTrainedTokenizerBase) -> list[nn.Module]:
    return [Pooling(dim, "cls")]


def max(dim: int, layers: int, tokenizer: PreTrainedTokenizerBase) -> list[nn.Module]:
    return [Pooling(dim, "max")]


def last(dim: int, layers: int, tokenizer: PreTrainedTokenizerBase) -> list[nn.Module]:
    return [Pooling(dim, "lasttoken")]


def mean_without_cls(dim: int, layers: int, tokenizer: PreTrainedTokenizerBase) -> list[nn.Module]:
    """[CLS] is masked in queries and documents alike; a text that has no task counts as a document."""
    return [MultiVectorMask([tokenizer.cls_token], skiplist_tasks=["query", "document"]), Pooling(dim, "mean")]


def first_last_mean(dim: int, layers: int, tokenizer: PreTrainedTokenizerBase) -> list[nn.Module]:
    """One weight for every layer's output, the embedding layer left out; the first and the last have all of it."""
    weights = torch.zeros(layers)
    weights[0] += 1
    weights[-1] += 1
    pooling = WeightedLayerPooling(dim, num_hidden_layers=layers, layer_start=1)
    pooling.layer_weights.data.copy_(weights)
    return [pooling, Pooling(dim, "mean")]
