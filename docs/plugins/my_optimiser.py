from dataclasses import dataclass

from trainables.keys import Range, between, key
from trainables.lazy_torch import torch
from trainables.training.optimisers import OPTIMISERS, Optimiser


@dataclass(frozen=True)
class NAdam(Optimiser):
    """Adam with Nesterov's momentum (Dozat 2016)."""

    name = "nadam"

    first: float = key(0.9, "beta 1.", between(0.0, 0.999), label="beta 1", search=Range(0.8, 0.99))

    def build(self, groups, rate):
        return torch.optim.NAdam(groups, lr=rate, betas=(self.first, 0.999))


OPTIMISERS.add(NAdam)
