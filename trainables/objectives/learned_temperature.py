"""A temperature that is trained with the encoder, as in CLIP (Radford 2021)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class LearnedTemperature(nn.Module):
    """A temperature between two bounds. Its logarithm is the parameter, so a step changes tau by a share of tau."""

    def __init__(self, start: float, rate: float, low: float, high: float) -> None:
        """`rate`: highest learning rate of the logarithm. It follows the schedule of the encoder's learning rate."""
        super().__init__()
        self.log = nn.Parameter(torch.tensor(math.log(start)))
        self.rate, self.low, self.high = rate, math.log(low), math.log(high)

    def forward(self) -> Tensor:  # ()
        with torch.no_grad():  # clamping the result would give a gradient of 0 at the bounds
            self.log.clamp_(self.low, self.high)
        return self.log.exp()
