from dataclasses import dataclass

from trainables.encoders.pooling import POOLINGS, Pooling
from trainables.keys import Range, above, key


@dataclass(frozen=True)
class PowerMean(Pooling):
    """The power mean over the real tokens, in each dimension: between the mean and the largest size."""

    name = "power_mean"

    power: float = key(3.0, "p of the power mean.", above(0.0), label="power", search=Range(1.0, 8.0), together=True)

    def pool(self, states, mask):  # (sentences, dim)
        weights = mask.unsqueeze(-1).to(states[-1].dtype)
        sizes = states[-1].abs().clamp(min=1e-6).pow(self.power)
        return ((sizes * weights).sum(dim=1) / weights.sum(dim=1)).pow(1 / self.power)


POOLINGS.add(PowerMean)
