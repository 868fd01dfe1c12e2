"""Adam and RMSprop over stacked weights, with gradients that are written out."""

from __future__ import annotations

import torch
from torch import Tensor


class ClassifierOptimiser:
    """Adam or RMSprop with torch's defaults over the stacked weights; the gradient holds the weight decay already."""

    def __init__(self, name: str, weights: Tensor) -> None:
        self.name = name
        self.steps = torch.tensor(0.0, device=weights.device)
        self.first = torch.zeros_like(weights)
        self.second = torch.zeros_like(weights)

    def keep(self, classifiers: Tensor) -> None:
        """Go on with some of the classifiers, the first dimension of the weights."""
        self.first, self.second = self.first[classifiers], self.second[classifiers]

    def step(self, weights: Tensor, gradient: Tensor) -> None:
        if self.name == "rmsprop":
            self.second.mul_(0.99).addcmul_(gradient, gradient, value=0.01)
            weights.addcdiv_(gradient, self.second.sqrt().add_(1e-8), value=-0.01)
            return
        self.steps += 1
        # What torch.optim.Adam(fused=True) calls; its checks would cost as much as a small step itself.
        torch._fused_adam_(
            [weights],
            [gradient],
            [self.first],
            [self.second],
            [],
            [self.steps],
            lr=1e-3,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )
