"""The poolings: how token states become one vector. To add one: a subclass of `Pooling`, whose fields are its keys,
added to `POOLINGS` below or in a plugin file."""

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
    """Whether it looks at other layers than the last; if not, only the last one's states are handed to it."""
    needs_cls: ClassVar[bool] = False
    """Whether the first token must be [CLS]."""
    needs_prompt: ClassVar[bool] = False
    """Whether a prompt is pooled in any case, as the pooling counts places: another token would be the first."""
    stock: ClassVar[str | None] = None
    """The mode of the module `Pooling` of sentence-transformers that ends a saved model; None: it cannot be saved."""
    before: ClassVar[str | None] = None
    """The class of the module that stands before that one, where it needs one; `stock_before` makes it."""
    since: ClassVar[str] = "5.4"
    """The first version of sentence-transformers that has these modules."""

    def __init_subclass__(cls, **options: Any) -> None:
        """A class that pools otherwise than its parent is not saved as that: it names its own modules, or none."""
        super().__init_subclass__(**options)
        if {"pool", "pool_row"} & vars(cls).keys():
            cls.stock, cls.before = vars(cls).get("stock"), vars(cls).get("before")

    def pool(self, states: States, mask: Tensor) -> Tensor:
        """From the states of every layer, (layers + 1) x (sentences, tokens, dim), or of the last alone, and the mask
        of real tokens, (sentences, tokens), to (sentences, dim)."""
        raise NotImplementedError

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        """The same from states without padding, (tokens, dim) each, one sentence after the other. lengths:
        (sentences,), on the CPU. A pooling that overrides this saves the time and memory of padding."""
        from trainables.encoders.packing import spread

        return self.pool(*spread(states, lengths))

    @property
    def counts_padding(self) -> bool:
        """Whether padding counts as tokens. Training then scales an embedding by its share of real tokens, the first
        left out, so it must be a mean without the first token."""
        return False

    def evaluated(self, states: States, mask: Tensor) -> Tensor:
        """What `encode` takes in place of `pool` where padding counts."""
        raise NotImplementedError

    def modules(self, dim: int, layers: int, tokenizer: PreTrainedTokenizerBase) -> list[nn.Module]:
        """The modules of sentence-transformers that give the same of states of size `dim`. Only stock ones: it loads
        no others unless it trusts a folder's code."""
        from sentence_transformers.sentence_transformer.modules import Pooling as Stock

        before = [] if self.before is None else [self.stock_before(dim, layers, tokenizer)]
        return [*before, Stock(dim, self.stock)]

    def stock_before(self, dim: int, layers: int, tokenizer: PreTrainedTokenizerBase) -> nn.Module:
        """The module of class `before`."""
        raise NotImplementedError

    @classmethod
    def made(cls, settings: Mapping[str, Any], weights: Callable[[str], list[float]]) -> bool:
        """Whether a model's module of class `before` is as `stock_before` makes it. `weights` reads a tensor of it by
        name."""
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
    """Mean over the real tokens but the first, [CLS] (Liao 2021, section 3)."""

    name = "mean_without_cls"
    meaning = "the mean over all but the first, [CLS]"
    needs_cls = True
    needs_prompt = True
    stock = "mean"
    before = "MultiVectorMask"
    since = "6"

    padding: Literal["ignore", "count"] = key(
        "ignore",
        "count: padding counts in the mean, as in Liao's released code: training divides by the padded length, "
        "inference averages padded positions in.",
    )

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        apart = torch.stack([torch.ones_like(lengths), lengths - 1], dim=1)  # the first token, and all others
        return _segments(states[-1], "mean", apart.flatten())[1::2]

    @property
    def counts_padding(self) -> bool:
        return self.padding == "count"

    def evaluated(self, states: States, mask: Tensor) -> Tensor:
        """A batch changes its sentences."""
        return states[-1][:, 1:].mean(dim=1)

    def stock_before(self, dim: int, layers: int, tokenizer: PreTrainedTokenizerBase) -> nn.Module:
        """It masks [CLS] in queries and documents alike; a text that has no task counts as a document."""
        from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

        module: nn.Module = MultiVectorMask([tokenizer.cls_token], skiplist_tasks=["query", "document"])
        return module

    @classmethod
    def made(cls, settings: Mapping[str, Any], weights: Callable[[str], list[float]]) -> bool:
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
    """The state of the last real token, the only one of a decoder that depends on all others."""

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
    before = "WeightedLayerPooling"

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        return _segments((states[1] + states[-1]) / 2, "mean", lengths)

    def stock_before(self, dim: int, layers: int, tokenizer: PreTrainedTokenizerBase) -> nn.Module:
        """One weight for the output of every layer, the embedding layer left out."""
        from sentence_transformers.sentence_transformer.modules import WeightedLayerPooling

        module = WeightedLayerPooling(dim, num_hidden_layers=layers, layer_start=1)
        module.layer_weights.data.copy_(torch.tensor(_ends(layers)))
        weighted: nn.Module = module
        return weighted

    @classmethod
    def made(cls, settings: Mapping[str, Any], weights: Callable[[str], list[float]]) -> bool:
        if settings.get("layer_start") != 1:
            return False
        layers = weights("layer_weights")
        return layers == _ends(len(layers))


def _ends(layers: int) -> list[float]:
    """A weight for each layer: the first and the last have all of it."""
    return [1.0, *[0.0] * (layers - 2), 1.0] if layers > 1 else [2.0]


def _segments(row: Tensor, reduce: Literal["mean", "max"], lengths: Tensor) -> Tensor:  # (segments, dim)
    """The mean or the largest value of each segment of a row, (tokens, dim); 0 for the mean of a segment without
    tokens. On a GPU it neither waits, which torch's checks would, nor adds in another order each time."""
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
