"""Losses over scored pairs: similarities learn the values of the scores, or their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainables.lazy_torch import torch
from trainables.objectives.objective import EmbeddedBatch, Loss, Objective
from trainables.objectives.temperature import Temperature
from trainables.objectives.widths import Widths

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class CoSENT(Temperature, Widths, Objective):
    """CoSENT (Huang 2024): over all (i, j) of the batch's pairs in which pair i has the higher score,

        log( 1 + sum over score(i) > score(j) of exp( (s(j) - s(i)) / tau ) ),

    s the cosine of a pair's (projected) embeddings, tau the `temperature`, usually 0.05. Only the order of the scores
    counts. Every worker computes this number from all pairs and returns an equal part of it.
    """

    name = "cosent"
    meaning = "cosines in the order of the scores (CoSENT)"
    layouts = ("scored_pairs",)
    contrasts = False

    def loss(self, batch: EmbeddedBatch, module: Any = None) -> Loss:
        return Loss(self.at_widths(lambda width: self._ranking(batch, width)) / batch.workers)

    def _ranking(self, batch: EmbeddedBatch, width: int | None) -> Tensor:
        first, second = (torch.nn.functional.normalize(side[:, :width], dim=1) for side in _sides(batch))
        scores, order = _scores(batch).sort()
        alike = self.alike(first[order], second[order]) / self.tau(batch.temperature)  # (pairs,) from the lowest score
        # Of all pairs with a higher score, which follow the pairs with equal scores: log of the sum of exp(-alike).
        behind = torch.logcumsumexp(-alike.flip(0), dim=0).flip(0)
        behind = torch.cat([behind, behind.new_full((1,), -torch.inf)])
        wrong = alike + behind[torch.searchsorted(scores, scores, right=True)]
        return torch.logsumexp(torch.cat([wrong.new_zeros(1), wrong]), dim=0)

    def alike(self, first: Tensor, second: Tensor) -> Tensor:  # (pairs, dim) of length 1, twice -> (pairs,)
        """Return the similarity of the two texts of each pair."""
        return (first * second).sum(dim=1)


@dataclass(frozen=True)
class AnglE(CoSENT):
    """The angle term of AnglE (Li 2024): CoSENT with a similarity that has no vanishing gradient near 1. The halves
    of an embedding are the real and the imaginary part of a complex vector; with x and y of length 1,

        s(x, y) = | Re(x) Re(y) + Im(x) Im(y) + Im(x) Re(y) - Re(x) Im(y) |,

    as in the authors' code. An embedding of odd size is padded by one 0.
    """

    name = "angle"
    meaning = "cosent by angles (AnglE)"

    def alike(self, first: Tensor, second: Tensor) -> Tensor:
        odd = first.shape[1] % 2
        (a, b), (c, d) = (torch.nn.functional.pad(side, (0, odd)).chunk(2, dim=1) for side in (first, second))
        return (a * c + b * d + b * c - a * d).sum(dim=1).abs()


@dataclass(frozen=True)
class Cosine(Widths, Objective):
    """SBERT's regression (Reimers 2019): the mean over the batch's pairs of the squared difference between the cosine
    of the (projected) embeddings and the score, which lies between 0 and 1."""

    name = "cosine"
    meaning = "cosines as large as the scores (SBERT)"
    layouts = ("scored_pairs",)
    contrasts = False

    def loss(self, batch: EmbeddedBatch, module: Any = None) -> Loss:
        scores = _scores(batch)
        mine = batch.share(len(scores))
        first, second = _sides(batch)

        def squares(width: int | None) -> Tensor:
            cosines = torch.nn.functional.cosine_similarity(first[mine, :width], second[mine, :width], dim=1)
            return (cosines - scores[mine]).square().sum()

        return Loss(self.at_widths(squares) / len(scores))


def _sides(batch: EmbeddedBatch) -> tuple[Tensor, Tensor]:  # (pairs, dim) twice
    return batch.projected[batch.premise], batch.projected[batch.hypothesis]


def _scores(batch: EmbeddedBatch) -> Tensor:  # (pairs,)
    assert batch.score is not None, "the layout gives scores"
    return batch.score
