"""The poolings: how token states become one vector. To add one: a function like those in `pool.py`, an entry here or in
a plugin file, and, if models with it are to be saved, a function like those in `stock.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainables.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedTokenizerBase

    Pool = Callable[[tuple[Tensor, ...], Tensor], Tensor]
    Stock = Callable[[int, int, PreTrainedTokenizerBase], list[nn.Module]]


@dataclass(frozen=True)
class Pooling:
    """An entry of `POOLINGS`. Each function may be given as `"module:function"`."""

    name: str
    function: Pool | str
    """From the states of every layer, (layers + 1) x (sentences, tokens, dim), and the mask of real tokens, (sentences,
    tokens), to (sentences, dim)."""
    every_layer: bool = False
    """Whether it looks at other layers than the last; if not, only the last one's states are handed to it."""
    needs_cls: bool = False
    """Whether the first token must be [CLS]."""
    padded: Pool | str | None = None
    """What is evaluated with `pooling.padding=count`, padding counted as tokens; None: that is refused. Training scales
    an embedding by its share of real tokens, the first left out, so it must be a mean without the first token."""
    stock: Stock | str | None = None
    """From the size of a state, the number of layers and the tokenizer to the modules of sentence-transformers that
    give the same; None: there are none, and a model with this pooling is not saved."""


_POOL, _STOCK = "trainables.encoders.pooling_functions", "trainables.encoders.saved_modules"

POOLINGS = Registry(
    "pooling",
    Pooling("mean", f"{_POOL}:mean", stock=f"{_STOCK}:mean"),
    Pooling(
        "mean_without_cls",
        f"{_POOL}:mean_without_cls",
        needs_cls=True,
        padded=f"{_POOL}:padded_mean_without_cls",
        stock=f"{_STOCK}:mean_without_cls",
    ),
    Pooling("cls", f"{_POOL}:cls", needs_cls=True, stock=f"{_STOCK}:cls"),
    Pooling("max", f"{_POOL}:maximum", stock=f"{_STOCK}:maximum"),
    Pooling("last", f"{_POOL}:last", stock=f"{_STOCK}:last"),
    Pooling("first_last_mean", f"{_POOL}:first_last_mean", every_layer=True, stock=f"{_STOCK}:first_last_mean"),
)
"""The values of `pooling.mode`."""
