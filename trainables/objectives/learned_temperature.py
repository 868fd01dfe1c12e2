"""A temperature that is trained with the encoder, as CLIP trains its own (Radford 2021)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class LearnedTemperature(nn.Module):
    """Its logarithm is the parameter, so that a step changes it by a share of itself. It never leaves its bounds."""

    def __init__(self, start: float, rate: float, low: float, high: float) -> None:
        """`rate`: its highest learning rate, which follows the schedule of the others'."""
        super().__init__()
        self.log = nn.Parameter(torch.tensor(math.log(start)))
        self.rate, self.low, self.high = rate, math.log(low), math.log(high)

    def forward(self) -> Tensor:  # ()
        with torch.no_grad():  # a clamp of the result would give no gradient to come back by
            self.log.clamp_(self.low, self.high)
        return self.log.exp()
