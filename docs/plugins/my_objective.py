from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F

from trainables.keys import Range, above, at_least, key
from trainables.labels import ENTAILMENT
from trainables.objectives import OBJECTIVES
from trainables.objectives.objective import EmbeddedBatch, Loss, Objective
from trainables.to_device import to_device


@dataclass(frozen=True)
class Alignment(Objective):
    """The distance between the unit vectors of an entailed pair, to a power, and how evenly all lie (Wang and Isola
    2020)."""

    name = "alignment"
    layouts = ("rows", "pairs")
    most_negatives = 0

    power: float = key(2.0, "alpha, the power of a distance.", above(0.0), label="alpha", search=Range(0.5, 4.0))
    evenness: float = key(0.0, "What uniformity counts for.", at_least(0.0), label="evenness", search=Range(0.0, 1.0))

    def loss(self, batch: EmbeddedBatch, module: Any = None) -> Loss:
        entailed = to_device((batch.pairs.label == ENTAILMENT).nonzero().squeeze(1), batch.projected.device)
        mine = entailed[batch.share(len(entailed))]
        unit = F.normalize(batch.projected, dim=1)
        distances = (unit[batch.premise[mine]] - unit[batch.hypothesis[mine]]).norm(dim=1).pow(self.power)
        loss = distances.sum() / max(len(entailed), 1)
        near = torch.cdist(unit[batch.share(len(unit))], unit).square().mul(-2).exp()
        return Loss(loss + self.evenness * near.sum() / len(unit) ** 2, {"anchors": len(entailed)})


OBJECTIVES.add(Alignment)
