"""What an entry of ours and its peer in another library make of the same input, and how far they lie apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@dataclass(frozen=True)
class Both:
    """Ours and theirs: values with the gradients behind them, or lists that should be equal, which have none."""

    value: tuple[Any, Any]
    gradients: tuple[Sequence[Tensor], Sequence[Tensor]] = ((), ())

    def check(self) -> None:
        """Equal to 1e-5, and lists wholly; no gradient may be nought."""
        ours, theirs = self.value
        if isinstance(ours, Tensor):
            torch.testing.assert_close(ours, theirs, **CLOSE)
            assert all(bool((gradient != 0).any()) for gradient in self.gradients[1])
            torch.testing.assert_close(list(self.gradients[0]), list(self.gradients[1]), **CLOSE)
        else:
            assert ours == theirs

    def apart(self) -> float:
        """The largest difference of the values, as a share of the largest number in the peer's; of lists how many
        places differ."""
        ours, theirs = self.value
        if isinstance(ours, Tensor):
            return _share(ours, theirs)
        return sum(a != b for a, b in zip(ours, theirs, strict=False)) + abs(len(ours) - len(theirs))

    def gradients_apart(self) -> float:
        """The same of the gradients."""
        return max(_share(ours, theirs) for ours, theirs in zip(*self.gradients, strict=True))


def _share(ours: Tensor, theirs: Tensor) -> float:
    return float((ours - theirs).abs().max() / theirs.abs().max())


@dataclass(frozen=True)
class Case:
    """An entry with settings of its own, beside a peer: `find` makes the input of a seed, and asks both."""

    entry: str
    peer: str
    find: Callable[[int], Both]


def by_entry(cases: Sequence[Case]) -> dict[tuple[str, str], list[Case]]:
    """Cases of one entry and peer together, in the order of the first."""
    entries: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        entries.setdefault((case.entry, case.peer), []).append(case)
    return entries
