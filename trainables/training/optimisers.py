"""The optimisers. To add one, write a subclass of `Optimiser`, whose fields are its keys, here or in a plugin file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from trainables.keys import Options, Range, between, key
from trainables.lazy_torch import torch
from trainables.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor


class Stacked(Protocol):
    """An optimiser of a population. Parameters and gradients are stacked: matrices are (members, out, in), biases
    (members, out)."""

    @property
    def state(self) -> Mapping[str, Sequence[Tensor]]:
        """The state of each parameter, by name, in the shape of the parameter."""

    def step(self, step: int, gradients: Sequence[Tensor], rate: Tensor, decay: Tensor) -> None:
        """Run step `step`, counted from 0. The gradients may be changed. Learning rate and weight decay of the members
        are (members, 1, 1). Biases do not decay."""


@dataclass(frozen=True)
class Optimiser(Options):
    """An entry of `OPTIMISERS`. Its fields are its keys. Importing it does not import PyTorch
    (`trainables.lazy_torch`)."""

    section = "optimisation"

    name: ClassVar[str]
    fits_population: ClassVar[bool] = False
    """Whether `stacked` is implemented, which trains many trials together. If not, adapters are trained one by one."""

    def build(self, groups: list[dict[str, Any]], rate: float) -> torch.optim.Optimizer:
        """Return an optimiser. `groups`: parameters with their weight decay. `rate`: the highest learning rate; the
        loop changes it by the schedule."""
        raise NotImplementedError

    def stacked(self, members: Sequence[Any], parameters: Sequence[Tensor]) -> Stacked:
        """Return an optimiser for a population. `members`: one instance of this class for each trial."""
        raise NotImplementedError


@dataclass(frozen=True)
class AdamW(Optimiser):
    """AdamW with PyTorch's defaults."""

    name = "adamw"
    meaning = "with torch's defaults"
    fits_population = True

    def build(self, groups: list[dict[str, Any]], rate: float) -> torch.optim.Optimizer:
        return torch.optim.AdamW(groups, lr=rate, fused=True)

    def stacked(self, members: Sequence[AdamW], parameters: Sequence[Tensor]) -> Stacked:
        return _StackedAdamW(parameters)


@dataclass(frozen=True)
class SGD(Optimiser):
    """Stochastic gradient descent with momentum."""

    name = "sgd"
    meaning = "stochastic gradient descent with momentum"
    fits_population = True

    momentum: float = key(
        0.9,
        "What share of the last step goes on in the next one.",
        between(0.0, 1.0),
        together=True,
        search=Range(0.0, 0.99),
    )

    def build(self, groups: list[dict[str, Any]], rate: float) -> torch.optim.Optimizer:
        return torch.optim.SGD(groups, lr=rate, momentum=self.momentum)

    def stacked(self, members: Sequence[SGD], parameters: Sequence[Tensor]) -> Stacked:
        return _StackedSGD([member.momentum for member in members], parameters)


class _StackedSGD:
    def __init__(self, momentum: Sequence[float], parameters: Sequence[Tensor]) -> None:
        self.parameters = parameters
        self.share = parameters[0].new_tensor(momentum).view(-1, 1, 1)
        self.state = {"momentum": [torch.zeros_like(parameter) for parameter in parameters]}

    def step(self, step: int, gradients: Sequence[Tensor], rate: Tensor, decay: Tensor) -> None:
        for parameter, gradient, momentum in zip(self.parameters, gradients, self.state["momentum"], strict=True):
            matrix = parameter.dim() > 2
            if matrix:
                gradient.addcmul_(parameter, decay)
            momentum.mul_(self.share if matrix else self.share.squeeze(2)).add_(gradient)
            parameter.addcmul_(momentum, rate if matrix else rate.squeeze(2), value=-1)


class _StackedAdamW:
    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self.parameters = parameters
        self.state = {name: [torch.zeros_like(parameter) for parameter in parameters] for name in ("mean", "square")}

    def step(self, step: int, gradients: Sequence[Tensor], rate: Tensor, decay: Tensor) -> None:
        first, second = 1 - 0.9 ** (step + 1), 1 - 0.999 ** (step + 1)
        moments = zip(self.parameters, gradients, self.state["mean"], self.state["square"], strict=True)
        for parameter, gradient, mean, square in moments:
            matrix = parameter.dim() > 2
            own = rate if matrix else rate.squeeze(2)
            if matrix:
                parameter.mul_(1 - rate * decay)
            mean.lerp_(gradient, 0.1)
            square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
            parameter.addcmul_(mean / (square.sqrt().div_(math.sqrt(second)).add_(1e-8)), own / first, value=-1)


OPTIMISERS: Registry[type[Optimiser]] = Registry("optimiser", AdamW, SGD)
"""All optimisers, by the values of `optimisation.optimiser`."""
