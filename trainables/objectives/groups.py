"""The groups of a batch: anchors with what belongs to them, and the texts that each anchor agrees with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainables.labels import CONTRADICTION, ENTAILMENT
from trainables.lazy_torch import torch
from trainables.objectives.objective import EmbeddedBatch

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Groups:
    """A view of a batch, group by group. Rows labelled neutral are neither positives nor hard negatives."""

    anchor: Tensor  # (groups,) index into items
    of: Tensor  # (pairs,) the group of each row, counted from 0
    entailed: Tensor  # (pairs,) boolean: the rows whose hypotheses are positives of their group's anchor
    contradicted: Tensor  # (pairs,) boolean: the rows whose hypotheses are its hard negatives
    _text: Tensor  # (items,) fingerprints
    _hypothesis: Tensor  # (pairs,) index into items

    @classmethod
    def of_batch(cls, batch: EmbeddedBatch) -> Groups:
        names, of = torch.unique(batch.group, return_inverse=True)
        anchor = batch.premise.new_empty(len(names)).scatter_(0, of, batch.premise)  # all rows of a group agree
        return cls(anchor, of, batch.label == ENTAILMENT, batch.label == CONTRADICTION, batch.text, batch.hypothesis)

    @property
    def own(self) -> Tensor:  # (groups, pairs), boolean
        """Which rows are a group's."""
        return self.of == torch.arange(len(self.anchor), device=self.of.device).unsqueeze(1)

    def agree(self, text: Tensor) -> Tensor:  # (texts,) fingerprints -> (groups, texts), boolean
        """Whether a text is that of the group's anchor or of one of its positives.

        Such a text is no true negative in the group, wherever in the batch or the bank it stands.
        """
        words, number = torch.unique(torch.cat([self._text, text]), return_inverse=True)
        items, asked = number[: len(self._text)], number[len(self._text) :]
        agreed = torch.zeros(len(self.anchor), len(words), dtype=torch.bool, device=text.device)
        agreed[torch.arange(len(self.anchor), device=text.device), items[self.anchor]] = True
        agreed[self.of[self.entailed], items[self._hypothesis[self.entailed]]] = True
        return agreed[:, asked]


@dataclass(frozen=True)
class Classes:
    """The members of all groups, with their positives and negatives. Candidates: all members, then hard negatives."""

    members: Tensor  # (members,) index into items: the anchors, then the positives
    candidates: Tensor  # (candidates,) index into items
    positives: Tensor  # (members, candidates), boolean
    negatives: Tensor  # (members, candidates), boolean
    groups: Groups
    owner: Tensor  # (members,) the group of each

    @classmethod
    def of(cls, batch: EmbeddedBatch, mask: bool) -> Classes:
        groups = Groups.of_batch(batch)
        row, count = groups.entailed.nonzero().squeeze(1), len(groups.anchor)
        hard = groups.contradicted.nonzero().squeeze(1)
        members = torch.cat([groups.anchor, batch.hypothesis[row]])
        candidates = torch.cat([members, batch.hypothesis[hard]])
        owner = torch.cat([torch.arange(count, device=row.device), groups.of[row]])  # (members,)
        same = owner.unsqueeze(1) == owner  # (members, members)
        positives = same & ~torch.eye(len(members), dtype=torch.bool, device=row.device)
        is_anchor = torch.arange(len(members), device=row.device) < count
        of_anchor = is_anchor.unsqueeze(1) & (owner.unsqueeze(1) == groups.of[hard])  # (members, hard negatives)
        negatives = torch.cat([~same, of_anchor], dim=1)
        if mask:
            negatives = negatives & ~groups.agree(batch.text[candidates])[owner]
        none = torch.zeros_like(of_anchor)  # a hard negative is no positive
        return cls(members, candidates, torch.cat([positives, none], dim=1), negatives, groups, owner)
