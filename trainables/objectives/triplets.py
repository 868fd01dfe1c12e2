"""Margin losses over triplets of anchor, positive and negative, by Euclidean distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainables.lazy_torch import torch
from trainables.objectives.groups import Classes, Groups
from trainables.objectives.kernel import in_parts
from trainables.objectives.objective import EmbeddedBatch, Loss, Objective, counts_of
from trainables.objectives.options import KEEPS, Margin

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Triplet(Margin, Objective):
    """SupMPN, eq. 1: the mean, over an anchor's pairs of a positive p and a hard negative n of its own, of

        max( D(x, p) - D(x, n) + m, 0 ),

    over all triplets of the batch; D Euclidean, on projected embeddings, m `margin`, in units of D.
    With `false_negatives="mask"` a hard negative whose text is the anchor's or a positive's makes no triplet.
    """

    name = "triplet"
    layouts = ("groups",)
    released = KEEPS

    def loss(self, batch: EmbeddedBatch, own: Any = None) -> Loss:
        groups = Groups.of_batch(batch)
        own = groups.own  # (groups, pairs)
        positives, negatives = own & groups.entailed, own & groups.contradicted
        if self.false_negatives == "mask":
            negatives = negatives & ~groups.agree(batch.text[batch.hypothesis])
        triplets = (positives.sum(dim=1) * negatives.sum(dim=1)).sum().clamp(min=1)
        mine = batch.share(len(own))
        # (pairs,): of each row to its own anchor, which is all that the masks ask for
        distances = torch.linalg.vector_norm(batch.projected[batch.premise] - batch.projected[batch.hypothesis], dim=1)

        def summed(part: slice) -> Tensor:  # (1,)
            masks = positives[mine][part], negatives[mine][part]
            return _hinges(distances.expand(own.shape)[mine][part], *masks, self.margin).sum().unsqueeze(0)

        hinges = in_parts(summed, mine.stop - mine.start, _each(positives) * own.shape[1])
        return Loss(hinges.sum() / triplets, counts_of(positives, negatives))


@dataclass(frozen=True)
class BatchAll(Margin, Objective):
    """SupMPN, eq. 2 (Hermans 2017): over every triplet of the batch, [ D(a, p) - D(a, n) + m ]+.

    A class is a group, its members the anchor and its positives; a is a member, p another of its class, n a
    member of another class or, where a is the anchor, one of its own hard negatives. D is Euclidean, on projected
    embeddings; m is `margin`, in units of D.

    Eq. 2 is a sum, whose size grows with the cube of the batch. We take the mean over the triplets that
    violate the margin, as Hermans does in his "BatchAll != 0": the satisfied ones would only water it down.
    With `false_negatives="mask"` an n whose text is that of a member of a's class makes no triplet.
    """

    name = "batch_all"
    layouts = ("groups", "pairs", "similar_pairs", "same_label")
    released = KEEPS

    def loss(self, batch: EmbeddedBatch, own: Any = None) -> Loss:
        classes = Classes.of(batch, self.false_negatives == "mask")
        mine = batch.share(len(classes.members))
        hinges, violating = self._summed(batch, classes, mine)
        with torch.no_grad():  # the violations of the whole batch are the divisor of every worker's part
            others = (slice(0, mine.start), slice(mine.stop, len(classes.members)))
            violating = violating + sum(self._summed(batch, classes, part)[1] for part in others)
        loss = (hinges / violating.clamp(min=1)).to(batch.projected.dtype)
        return Loss(loss, counts_of(classes.positives, classes.negatives))

    def _summed(self, batch: EmbeddedBatch, classes: Classes, members: slice) -> Tensor:  # (2,)
        """Of some members the sum of the hinges, and how many are above 0; in float64, which counts beyond 2**24."""

        def summed(part: slice) -> Tensor:  # (1, 2)
            some = slice(members.start + part.start, members.start + part.stop)
            masks = classes.positives[some], classes.negatives[some]
            hinges = _hinges(_distances(batch, classes, some), *masks, self.margin)
            return torch.stack([hinges.sum().double(), (hinges > 0).sum().double()]).unsqueeze(0)

        width = _each(classes.positives) * len(classes.candidates)
        return in_parts(summed, members.stop - members.start, width).sum(dim=0)


@dataclass(frozen=True)
class BatchHard(Margin, Objective):
    """SupMPN, eq. 3 (Hermans 2017): the mean over the members a that have a positive and a negative of

        [ max over p of D(a, p) - min over n of D(a, n) + m ]+,

    members, p, n, D, m and false negatives as in `BatchAll`; eq. 3 is the sum.
    """

    name = "batch_hard"
    layouts = ("groups", "pairs", "similar_pairs", "same_label")
    released = KEEPS

    def loss(self, batch: EmbeddedBatch, own: Any = None) -> Loss:
        classes = Classes.of(batch, self.false_negatives == "mask")
        complete = classes.positives.any(dim=1) & classes.negatives.any(dim=1)  # (members,)
        mine = batch.share(len(classes.members))

        def hardest(part: slice) -> Tensor:  # (members of the part that have both,)
            some = slice(mine.start + part.start, mine.start + part.stop)
            distances = _distances(batch, classes, some)[complete[some]]
            positives, negatives = (mask[some][complete[some]] for mask in (classes.positives, classes.negatives))
            farthest = distances.masked_fill(~positives, -torch.inf).max(dim=1).values
            nearest = distances.masked_fill(~negatives, torch.inf).min(dim=1).values
            return (farthest - nearest + self.margin).relu()

        losses = in_parts(hardest, mine.stop - mine.start, len(classes.candidates))
        return Loss(losses.sum() / complete.sum().clamp(min=1), counts_of(classes.positives, classes.negatives))


def _distances(batch: EmbeddedBatch, classes: Classes, part: slice) -> Tensor:  # (members of the part, candidates)
    """From some members to all candidates."""
    from trainables.objectives.distance import distance

    return distance(batch.projected[classes.members[part]], batch.projected[classes.candidates])


def _each(positives: Tensor) -> int:
    """How many positives a row has on average, rounded up: as many times its candidates are held at once."""
    return -(-int(positives.sum()) // max(1, len(positives)))


def _hinges(distances: Tensor, positives: Tensor, negatives: Tensor, margin: float) -> Tensor:
    """[ D(a, p) - D(a, n) + m ]+ of all triplets, (anchor and positive, candidate); 0 where there is none.

    All three matrices are (anchors, candidates).
    """
    anchor, positive = positives.nonzero(as_tuple=True)
    gaps = distances[anchor, positive].unsqueeze(1) - distances[anchor] + margin
    return gaps.relu().masked_fill(~negatives[anchor], 0.0)
