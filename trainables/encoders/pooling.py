"""The poolings: how token states become one vector. To add one: a subclass of `Pooling`, whose fields are its keys,
added here or in a plugin file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from trainables.keys import Options, key
from trainables.lazy_torch import torch
from trainables.registry import Registry, load
from trainables.to_device import to_device

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedTokenizerBase

    Saved = Callable[[int, int, PreTrainedTokenizerBase], list[nn.Module]]
    States = tuple[Tensor, ...]

_SAVED = "trainables.encoders.saved_modules"


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

    def pool(self, states: States, mask: Tensor) -> Tensor:
        """From the states of every layer, (layers + 1) x (sentences, tokens, dim), or of the last alone, and the mask
        of real tokens, (sentences, tokens), to (sentences, dim)."""
        raise NotImplementedError

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        """The same from states without padding, (tokens, dim) each, one sentence after the other. lengths:
        (sentences,), on the CPU. Here `pool` does it; what needs no padding saves the time and memory for it."""
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

    @property
    def saved(self) -> Saved | None:
        """From the size of a state, the number of layers and the tokenizer to the modules of sentence-transformers that
        give the same; None: there are none, and a model with this pooling is not saved."""
        return None


@dataclass(frozen=True)
class _Stock(Pooling):
    """One with modules of its name among those of sentence-transformers."""

    @property
    def saved(self) -> Saved:
        return self._saved

    def _saved(self, dim: int, layers: int, tokenizer: PreTrainedTokenizerBase) -> list[nn.Module]:
        """Only who saves imports sentence-transformers, which takes seconds and 90 MB."""
        modules: list[nn.Module] = load(f"{_SAVED}:{self.name}")(dim, layers, tokenizer)
        return modules


@dataclass(frozen=True)
class Mean(_Stock):
    """Mean over all real tokens."""

    name = "mean"

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        return _segments(states[-1], "mean", lengths)


@dataclass(frozen=True)
class MeanWithoutCLS(_Stock):
    """Mean over the real tokens but the first, [CLS] (Liao 2021, section 3)."""

    name = "mean_without_cls"
    needs_cls = True

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


@dataclass(frozen=True)
class CLS(_Stock):
    """The state of the first token."""

    name = "cls"
    needs_cls = True

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        return states[-1][to_device(lengths.cumsum(0) - lengths, states[-1].device)]


@dataclass(frozen=True)
class Maximum(_Stock):
    """The largest value over the real tokens, in each dimension."""

    name = "max"

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        return _segments(states[-1], "max", lengths)


@dataclass(frozen=True)
class Last(_Stock):
    """The state of the last real token, the one that has seen all others in a decoder."""

    name = "last"

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        return states[-1][to_device(lengths.cumsum(0) - 1, states[-1].device)]


@dataclass(frozen=True)
class FirstLastMean(_Stock):
    """Mean over the real tokens of the average of the first layer's and the last layer's output."""

    name = "first_last_mean"
    every_layer = True

    def pool_row(self, states: States, lengths: Tensor) -> Tensor:
        return _segments((states[1] + states[-1]) / 2, "mean", lengths)


def _segments(row: Tensor, reduce: Literal["mean", "max"], lengths: Tensor) -> Tensor:  # (segments, dim)
    """The mean or the largest value of each segment of a row, (tokens, dim); 0 of one without tokens where it is the
    mean. On a GPU it neither waits, which torch's checks would, nor adds in another order each time."""
    start = 0.0 if reduce == "mean" else None
    found: Tensor = torch.segment_reduce(
        row, reduce, lengths=to_device(lengths, row.device), unsafe=True, initial=start
    )
    return found


POOLINGS: Registry[type[Pooling]] = Registry("pooling", Mean, MeanWithoutCLS, CLS, Maximum, Last, FirstLastMean)
"""The values of `pooling.mode`."""
