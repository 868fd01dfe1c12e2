"""Margin losses over triplets of anchor, positive and negative, by Euclidean distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainables.lazy_torch import torch
from trainables.objectives.groups import GroupMembers, Groups
from trainables.objectives.kernel import compute_in_parts
from trainables.objectives.objective import EmbeddedBatch, Loss, Objective, counts_of
from trainables.objectives.options import KEEP_FALSE_NEGATIVES, Margin
from trainables.to_device import to_device

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Triplet(Margin, Objective):
    """SupMPN, eq. 1: the mean over all triplets of the batch of

        max( D(x, p) - D(x, n) + m, 0 ),

    x an anchor, p a positive and n a hard negative of the same group, D the Euclidean distance of projected embeddings,
    m the `margin` in units of D. With `false_negatives="mask"` a hard negative with the text of the anchor or of one of
    its positives makes no triplet.
    """

    name = "triplet"
    meaning = "an anchor nearer to its positive than to its hard negative, by a margin"
    layouts = ("groups",)
    released = KEEP_FALSE_NEGATIVES

    def loss(self, batch: EmbeddedBatch, module: Any = None) -> Loss:
        groups = Groups.of_batch(batch)
        membership = groups.membership  # (groups, pairs)
        positives, negatives = membership & groups.entailed, membership & groups.contradicted
        rows = groups.on_cpu.positives
        pairs = _PositivePairs.of(groups.on_cpu.pair_group[rows], rows, len(membership), batch.projected.device)
        if self.false_negatives == "mask":
            negatives = negatives & ~groups.match_texts(batch.text[batch.hypothesis])
        triplets = (positives.sum(dim=1) * negatives.sum(dim=1)).sum().clamp(min=1)
        mine = batch.share(len(membership))
        # (pairs,): the distance of each pair's two texts; the masks use no other distances
        distances = torch.linalg.vector_norm(batch.projected[batch.premise] - batch.projected[batch.hypothesis], dim=1)

        def summed(part: slice) -> Tensor:  # (1,)
            some = slice(mine.start + part.start, mine.start + part.stop)
            rows = distances.expand(membership.shape)[some]
            return _hinges(rows, *pairs.within(some), negatives[some], self.margin).sum().unsqueeze(0)

        hinges = compute_in_parts(summed, mine.stop - mine.start, pairs.mean_count * membership.shape[1])
        return Loss(hinges.sum() / triplets, counts_of(positives, negatives))


@dataclass(frozen=True)
class BatchAll(Margin, Objective):
    """SupMPN, eq. 2 (Hermans 2017): over every triplet of the batch, [ D(a, p) - D(a, n) + m ]+.

    A class is a group; its members are the anchor and its positives. a is a member and p another member of the same
    class. n is a member of another class or, if a is the anchor, one of its hard negatives. D is the Euclidean distance
    of projected embeddings; m is `margin`, in units of D.

    Eq. 2 is a sum, which grows with the cube of the batch. The loss is the mean over the triplets that violate the
    margin, as in Hermans' "BatchAll != 0"; satisfied triplets would only dilute the mean.
    With `false_negatives="mask"` an n with the text of a member of a's class makes no triplet.
    """

    name = "batch_all"
    meaning = "triplet over all triplets of the batch that miss the margin"
    layouts = ("groups", "pairs", "similar_pairs", "same_label")
    released = KEEP_FALSE_NEGATIVES

    def loss(self, batch: EmbeddedBatch, module: Any = None) -> Loss:
        classes = GroupMembers.of(batch, self.false_negatives == "mask")
        mine = batch.share(len(classes.members))
        pairs = _PositivePairs.of_classes(classes)
        hinges, violating = self._summed(batch, classes, pairs, mine)
        with torch.no_grad():  # every worker divides by the violations of the whole batch
            others = (slice(0, mine.start), slice(mine.stop, len(classes.members)))
            violating = violating + sum(self._summed(batch, classes, pairs, part)[1] for part in others)
        loss = (hinges / violating.clamp(min=1)).to(batch.projected.dtype)
        return Loss(loss, counts_of(classes.positives, classes.negatives))

    def _summed(
        self, batch: EmbeddedBatch, classes: GroupMembers, pairs: _PositivePairs, members: slice
    ) -> Tensor:  # (2,)
        """Return the sum of some members' hinges and the number of hinges above 0. They are in float64, which counts
        exactly also beyond 2**24."""

        def summed(part: slice) -> Tensor:  # (1, 2)
            some = slice(members.start + part.start, members.start + part.stop)
            distances = _distances(batch, classes, some)
            hinges = _hinges(distances, *pairs.within(some), classes.negatives[some], self.margin)
            return torch.stack([hinges.sum().double(), (hinges > 0).sum().double()]).unsqueeze(0)

        width = pairs.mean_count * len(classes.candidates)
        return compute_in_parts(summed, members.stop - members.start, width).sum(dim=0)


@dataclass(frozen=True)
class BatchHard(Margin, Objective):
    """SupMPN, eq. 3 (Hermans 2017): the mean over the members a that have a positive and a negative of

        [ max over p of D(a, p) - min over n of D(a, n) + m ]+,

    members, p, n, D, m and false negatives as in `BatchAll`. Eq. 3 itself is the sum.
    """

    name = "batch_hard"
    meaning = "triplet with each text's farthest positive and nearest negative"
    layouts = ("groups", "pairs", "similar_pairs", "same_label")
    released = KEEP_FALSE_NEGATIVES

    def loss(self, batch: EmbeddedBatch, module: Any = None) -> Loss:
        classes = GroupMembers.of(batch, self.false_negatives == "mask")
        complete = classes.positives.any(dim=1) & classes.negatives.any(dim=1)  # (members,)
        mine = batch.share(len(classes.members))

        def hardest(part: slice) -> Tensor:  # (members of the part,), 0 for a member that lacks one of the two
            some = slice(mine.start + part.start, mine.start + part.stop)
            distances = _distances(batch, classes, some)
            farthest = distances.masked_fill(~classes.positives[some], -torch.inf).max(dim=1).values
            nearest = distances.masked_fill(~classes.negatives[some], torch.inf).min(dim=1).values
            return (farthest - nearest + self.margin).relu()

        losses = compute_in_parts(hardest, mine.stop - mine.start, len(classes.candidates))
        return Loss(losses.sum() / complete.sum().clamp(min=1), counts_of(classes.positives, classes.negatives))


def _distances(batch: EmbeddedBatch, classes: GroupMembers, part: slice) -> Tensor:  # (members of the part, candidates)
    from trainables.objectives.distance import distance

    return distance(batch.projected[classes.members[part]], batch.projected[classes.candidates])


@dataclass(frozen=True)
class _PositivePairs:
    """All pairs of an anchor and one of its positives, in the order of the anchors."""

    anchor: Tensor  # (pairs,)
    positive: Tensor  # (pairs,) index into candidates
    ends: list[int]
    """0, then for each anchor the number of pairs up to and including its last pair."""

    @classmethod
    def of(cls, anchor: Tensor, positive: Tensor, anchors: int, device: torch.device) -> _PositivePairs:
        """Sort the pairs and copy them to the device. anchor, positive: (pairs,), on the CPU."""
        order = anchor.argsort(stable=True)
        ends = torch.bincount(anchor, minlength=anchors).cumsum(0).tolist()
        return cls(to_device(anchor[order], device), to_device(positive[order], device), [0, *ends])

    @classmethod
    def of_classes(cls, classes: GroupMembers) -> _PositivePairs:
        """Pair each member with all other members of its class."""
        member_group = classes.groups.on_cpu.member_group
        anchor, other = (member_group.unsqueeze(1) == member_group).fill_diagonal_(False).nonzero(as_tuple=True)
        return cls.of(anchor, other, len(member_group), classes.member_group.device)

    @property
    def mean_count(self) -> int:
        """Mean number of positives per anchor, rounded up. `_hinges` makes a row of candidates for each positive."""
        return -(-len(self.anchor) // max(1, len(self.ends) - 1))

    def within(self, anchors: slice) -> tuple[Tensor, Tensor]:
        """Return the pairs of some anchors, with anchors counted from `anchors.start`."""
        some = slice(self.ends[anchors.start], self.ends[anchors.stop])
        return self.anchor[some] - anchors.start, self.positive[some]


def _hinges(distances: Tensor, anchor: Tensor, positive: Tensor, negatives: Tensor, margin: float) -> Tensor:
    """Return [ D(a, p) - D(a, n) + m ]+ for (pairs, candidates); 0 where the candidate is no negative of the anchor.

    distances, negatives: (anchors, candidates). anchor, positive: (pairs,).
    """
    gaps = distances[anchor, positive].unsqueeze(1) - distances[anchor] + margin
    return gaps.relu().masked_fill(~negatives[anchor], 0.0)
