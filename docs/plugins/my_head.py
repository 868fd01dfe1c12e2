from dataclasses import dataclass

from trainables.encoders.projection import PROJECTIONS, Sized
from trainables.keys import between, key
from trainables.lazy_torch import torch


@dataclass(frozen=True)
class Dropped(Sized):
    """A linear layer over embeddings of which some numbers are left out."""

    name = "dropped"

    dropout: float = key(0.1, "Share of an embedding that is left out.", between(0.0, 0.9), search=(0.0, 0.1, 0.3))

    def build(self, dim):  # (sentences, dim) to (sentences, self.size(dim))
        return torch.nn.Sequential(torch.nn.Dropout(self.dropout), torch.nn.Linear(dim, self.size(dim)))


PROJECTIONS.add(Dropped)
