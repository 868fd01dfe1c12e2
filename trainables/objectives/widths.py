"""The loss of embeddings cut to several widths, or numbers of dimensions (Matryoshka learning, Kusupati 2022)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainables.errors import UserError
from trainables.keys import Options, key

if TYPE_CHECKING:
    from torch import Tensor


def _falling(dims: Sequence[str]) -> str | None:
    """Return the problem if widths do not fall, as equal settings must be written alike; None if they fall."""
    numbers = [int(name) for name in dims if name.isascii() and name.isdigit() and len(name) < 10]
    if [str(number) for number in sorted({*numbers} - {0}, reverse=True)] == list(dims):
        return None
    return "must be whole numbers above 0, from the largest to the smallest, as in 256,128,64"


def _weights(weights: Sequence[str]) -> str | None:
    try:
        fine = all(0 < float(weight) < float("inf") for weight in weights)
    except ValueError:
        fine = False
    return None if fine else "must be numbers above 0, as in 1,0.5,0.5"


@dataclass(frozen=True)
class Widths(Options):
    """Keys of objectives that can also be computed on embeddings cut to smaller sizes, the widths."""

    section = "objective"

    dims: tuple[str, ...] = key(
        (),
        "Widths below the embedding's own: the loss of the first so many numbers of each embedding is added to that of "
        "the whole (Matryoshka, Kusupati 2022), so that the embeddings can be cut there. The record has "
        "the scores of each width (data, widths).",
        _falling,
    )
    dims_weights: tuple[str, ...] = key(
        (),
        "What the loss at each of objective.dims is multiplied by; that of the whole counts once. An empty list: "
        "by 1 each.",
        _weights,
        when=("dims", bool),
    )

    def at_widths(self, loss: Callable[[int | None], Tensor]) -> Tensor:
        """Return the loss of the whole embeddings, `loss(None)`, plus the weighted losses of those cut to `dims`."""
        value = loss(None)
        for width, weight in zip(self.dims, self.dims_weights or ("1",) * len(self.dims), strict=True):
            value = value + float(weight) * loss(int(width))
        return value

    def check_widths(self, head: str) -> None:
        """Raise `UserError` for `dims` with a projection head or a wrong number of weights. `head`: `head.kind`."""
        if not self.dims:
            return
        if head != "none":
            raise UserError(
                f"objective.dims cuts the sentence embeddings, and head.kind={head} compares others in their place; "
                "set head.kind=none"
            )
        if self.dims_weights and len(self.dims_weights) != len(self.dims):
            raise UserError(
                f"objective.dims_weights gives {len(self.dims_weights)} weights for {len(self.dims)} widths; give one "
                "for each of objective.dims"
            )

    def check_dim(self, dim: int) -> None:
        """Raise `UserError` for a width that is not below `dim`, the size of the encoder's embeddings."""
        if self.dims and int(self.dims[0]) >= dim:
            raise UserError(
                f"objective.dims={','.join(self.dims)} must be below the {dim} numbers of the encoder's embeddings, "
                "which are trained whole in any case"
            )
