"""The poolings: how token states become one vector. To add one, write a subclass of `Pooling`, whose fields are its
keys, and add it to `POOLINGS` below or in a plugin file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from trainables.keys import Options, key
from trainables.lazy_torch import torch
from trainables.registry import Registry
from trainables.to_device import to_device

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedTokenizerBase

    States = tuple[Tensor, ...]


@dataclass(frozen=True)
class Pooling(Options):
    """An entry of `POOLINGS`. Its fields are its keys. Importing it is light: PyTorch comes from
    `trainables.lazy_torch`."""

    section = "pooling"

    name: ClassVar[str]
    every_layer: ClassVar[bool] = False
    """Whether the pooling gets the states of all layers; if not, it gets those of the last layer only."""
    needs_cls: ClassVar[bool] = False
    """Whether the first token must be [CLS]."""
    needs_prompt: ClassVar[bool] = False
    """Whether prompts are always pooled, because the pooling counts token positions: without a prompt another token
    would be the first."""
    stock: ClassVar[str | None] = None
    """Mode of sentence-transformers' module `Pooling` at the end of a saved model; None: the model cannot be saved."""
    module_before: ClassVar[str | None] = None
    """Class of the module before `Pooling`, if one is needed; `make_module_before` makes it."""
    since: ClassVar[str] = "5.4"
    """The first version of sentence-transformers that has the modules of this pooling."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Reset `stock` and `module_before` of a class that pools unlike its parent, unless the class sets them."""
        super().__init_subclass__(**options)
        if {"pool", "pool_row"} & vars(cls).keys():
            cls.stock, cls.module_before = vars(cls).get("stock"), vars(cls).get("module_before")

    def pool(self, states: States, mask: Tensor) -> Tensor:
        """Return embeddings, (sentences, dim), from the states of every layer, (layers + 1) x (sentences, tokens, dim),
        or of the last alone, and the mask of real tokens, (sentences, tokens)."""
        raise NotImplementedError

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        """Return the embeddings of `pool` from states without padding, (tokens, dim) each, one sentence after the
        other. lengths: (sentences,), on the CPU. A pooling that overrides this saves the time and memory of padding."""
        from trainables.encoders.packing import pad_states

        return self.pool(*pad_states(states, lengths))

    @property
    def counts_padding(self) -> bool:
        """Whether padding counts as tokens. Training then scales an embedding by its share of real tokens, without the
        first, so the pooling must be a mean without the first token."""
        return False

    def pool_for_evaluation(self, states: States, mask: Tensor) -> Tensor:
        """Return embeddings as `pool` does. `encode` calls this method if padding counts."""
        raise NotImplementedError

    def modules(self, dim: int, layers: int, tokenizer: PreTrainedTokenizerBase) -> list[nn.Module]:
        """Return the modules of sentence-transformers that pool states of size `dim` as this class does. All are stock
        modules, because others are not loaded unless a folder's code is trusted."""
        from sentence_transformers.sentence_transformer.modules import Pooling as Stock

        before = [] if self.module_before is None else [self.make_module_before(dim, layers, tokenizer)]
        return [*before, Stock(dim, self.stock)]

    def make_module_before(self, dim: int, layers: int, tokenizer: PreTrainedTokenizerBase) -> nn.Module:
        """Return the module of class `module_before`."""
        raise NotImplementedError

    @classmethod
    def matches_module(cls, settings: Mapping[str, Any], weights: Callable[[str], list[float]]) -> bool:
        """Whether a model's module of class `module_before` equals the one from `make_module_before`. `weights` reads
        one of its tensors by name."""
        raise NotImplementedError


@dataclass(frozen=True)
class Mean(Pooling):
    """Mean over all real tokens."""

    name = "mean"
    meaning = "the mean over all tokens"
    stock = "mean"

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        return _segments(states[-1], "mean", lengths)


@dataclass(frozen=True)
class MeanWithoutCLS(Pooling):
    """Mean over the real tokens except the first, [CLS] (Liao 2021, section 3)."""

    name = "mean_without_cls"
    meaning = "the mean over all but the first, [CLS]"
    needs_cls = True
    needs_prompt = True
    stock = "mean"
    module_before = "MultiVectorMask"
    since = "6"

    padding: Literal["ignore", "count"] = key(
        "ignore",
        "count: padding counts in the mean, as in Liao's released code: training divides by the padded length, "
        "inference averages padded positions in.",
    )

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        segments = torch.stack([torch.ones_like(lengths), lengths - 1], dim=1)  # the first token, and all others
        return _segments(states[-1], "mean", segments.flatten())[1::2]

    @property
    def counts_padding(self) -> bool:
        return self.padding == "count"

    def pool_for_evaluation(self, states: States, mask: Tensor) -> Tensor:
        """Return means that include padding, so an embedding depends on its batch."""
        return states[-1][:, 1:].mean(dim=1)

    def make_module_before(self, dim: int, layers: int, tokenizer: PreTrainedTokenizerBase) -> nn.Module:
        """Return a module that masks [CLS] in queries and documents; a text without a task counts as a document."""
        from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

        module: nn.Module = MultiVectorMask([tokenizer.cls_token], skiplist_tasks=["query", "document"])
        return module

    @classmethod
    def matches_module(cls, settings: Mapping[str, Any], weights: Callable[[str], list[float]]) -> bool:
        masks_cls = settings.get("skiplist_words") in (["[CLS]"], ["<s>"]) and not settings.get("keep_only_token_ids")
        return masks_cls and settings.get("skiplist_tasks") == ["query", "document"]


@dataclass(frozen=True)
class CLS(Pooling):
    """The state of the first token."""

    name = "cls"
    meaning = "the state of [CLS]"
    needs_cls = True
    stock = "cls"

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        return states[-1][to_device(lengths.cumsum(0) - lengths, states[-1].device)]


@dataclass(frozen=True)
class Maximum(Pooling):
    """The largest value over the real tokens, in each dimension."""

    name = "max"
    meaning = "the largest value of each dimension"
    stock = "max"

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        return _segments(states[-1], "max", lengths)


@dataclass(frozen=True)
class Last(Pooling):
    """The state of the last real token, the only token of a decoder that depends on all others."""

    name = "last"
    meaning = "the state of the last token, for decoders"
    stock = "lasttoken"

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        return states[-1][to_device(lengths.cumsum(0) - 1, states[-1].device)]


@dataclass(frozen=True)
class FirstLastMean(Pooling):
    """Mean over the real tokens of the average of the first layer's and the last layer's output."""

    name = "first_last_mean"
    meaning = "the mean over the tokens of the first layer's and the last layer's states"
    every_layer = True
    stock = "mean"
    module_before = "WeightedLayerPooling"

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        return _segments((states[1] + states[-1]) / 2, "mean", lengths)

    def make_module_before(self, dim: int, layers: int, tokenizer: PreTrainedTokenizerBase) -> nn.Module:
        """Return a module with one weight for the output of every layer, without the embedding layer."""
        from sentence_transformers.sentence_transformer.modules import WeightedLayerPooling

        module = WeightedLayerPooling(dim, num_hidden_layers=layers, layer_start=1)
        module.layer_weights.data.copy_(torch.tensor(_ends(layers)))
        weighted: nn.Module = module
        return weighted

    @classmethod
    def matches_module(cls, settings: Mapping[str, Any], weights: Callable[[str], list[float]]) -> bool:
        if settings.get("layer_start") != 1:
            return False
        layers = weights("layer_weights")
        return layers == _ends(len(layers))


def _ends(layers: int) -> list[float]:
    """Return a weight for each layer, equal for the first and the last, 0 for the others."""
    return [1.0, *[0.0] * (layers - 2), 1.0] if layers > 1 else [2.0]


def _segments(row: Tensor, reduce: Literal["mean", "max"], lengths: Tensor) -> Tensor:  # (segments, dim)
    """Return the mean or the largest value of each segment of a row, (tokens, dim); 0 for the mean of an empty segment.
    On a GPU this does not wait, as torch's checks would, and always adds in the same order."""
    start = 0.0 if reduce == "mean" else None
    reduced: Tensor = torch.segment_reduce(
        row, reduce, lengths=to_device(lengths, row.device), unsafe=True, initial=start
    )
    return reduced


POOLINGS: Registry[type[Pooling]] = Registry(
    "pooling",
    Mean,
    MeanWithoutCLS,
    CLS,
    Maximum,
    Last,
    FirstLastMean,
)
"""The values of `pooling.mode`."""
