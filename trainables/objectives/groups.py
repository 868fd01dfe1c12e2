"""The groups of a batch: each anchor with its positives and hard negatives, and the texts that cannot be its negatives.

Everything that decides a shape is computed on the CPU, before the batch is embedded, and copied to the device. Masks
are made on the device. So no step waits for a GPU.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from trainables.labels import CONTRADICTION, ENTAILMENT
from trainables.lazy_torch import torch
from trainables.objectives.objective import EmbeddedBatch, TextPairs
from trainables.to_device import to_device

if TYPE_CHECKING:
    from torch import Tensor

TENSOR_FIELDS = ("anchor", "pair_group", "entailed", "contradicted", "positives", "negatives")


@dataclass(frozen=True)
class Groups:
    """The pairs of a batch, grouped by anchor. Pairs labelled neutral are neither positives nor hard negatives."""

    anchor: Tensor  # (groups,) index into items
    pair_group: Tensor  # (pairs,) the group of each pair, counted from 0
    entailed: Tensor  # (pairs,) boolean: whether the hypothesis is a positive of its group's anchor
    contradicted: Tensor  # (pairs,) boolean: whether the hypothesis is a hard negative of its group's anchor
    positives: Tensor  # (positives,) index into pairs: the entailed pairs
    negatives: Tensor  # (hard negatives,) index into pairs: the contradicted pairs
    _pairs: TextPairs  # on the CPU
    _on_cpu: Groups | None = None

    @classmethod
    def of_batch(cls, batch: EmbeddedBatch) -> Groups:
        """Return the groups of a batch, on the device of its embeddings."""
        return cls.of_pairs(batch.pairs, batch.pairs.group).to(batch.projected.device)

    @classmethod
    def of_pairs(cls, pairs: TextPairs, group: Tensor) -> Groups:
        """Return the groups on the CPU, where `pairs` are. group: (pairs,), equal exactly for pairs of one anchor."""
        names, pair_group = torch.unique(group, return_inverse=True)
        anchor = pairs.premise.new_empty(len(names)).scatter_(0, pair_group, pairs.premise)  # the same in a group
        entailed, contradicted = pairs.label == ENTAILMENT, pairs.label == CONTRADICTION
        rows = entailed.nonzero().squeeze(1), contradicted.nonzero().squeeze(1)
        return cls(anchor, pair_group, entailed, contradicted, *rows, pairs)

    def to(self, device: torch.device) -> Groups:
        """Return a copy on the device, which also keeps the groups on the CPU."""
        tensors: dict[str, Any] = {name: to_device(getattr(self, name), device) for name in TENSOR_FIELDS}
        return replace(self, **tensors, _on_cpu=self.on_cpu)

    @property
    def on_cpu(self) -> Groups:
        """The same groups on the CPU."""
        return self if self._on_cpu is None else self._on_cpu

    @property
    def membership(self) -> Tensor:  # (groups, pairs), boolean
        """Whether a pair belongs to a group."""
        return self.pair_group == torch.arange(len(self.anchor), device=self.pair_group.device).unsqueeze(1)

    @property
    def member_group(self) -> Tensor:  # (members,)
        """The group of each member. Members are the anchors, then the positives."""
        return torch.cat(
            [torch.arange(len(self.anchor), device=self.pair_group.device), self.pair_group[self.positives]]
        )

    def match_texts(self, text: Tensor) -> Tensor:  # (texts,) fingerprints -> (groups, texts), boolean
        """Return whether a text equals the text of the group's anchor or of one of its positives.

        Such a text is no true negative in the group, at any position in the batch or in a memory bank.
        """
        words, matches = self._text_matches
        index = torch.searchsorted(words, text).clamp(max=len(words) - 1)
        return matches[:, index.masked_fill(words[index] != text, len(words))]

    @functools.cached_property
    def _text_matches(self) -> tuple[Tensor, Tensor]:
        """The sorted unique fingerprints of the batch's texts, (words,), and whether a text is that of a group's anchor
        or positive, (groups, words + 1). The last column is for texts outside the batch, and is False."""
        on_cpu, device = self.on_cpu, self.anchor.device
        words, number = torch.unique(self._pairs.text, return_inverse=True)
        members = torch.cat([on_cpu.anchor, self._pairs.hypothesis[on_cpu.positives]])
        group, word = to_device(torch.stack([on_cpu.member_group, number[members]]), device)
        matches = torch.zeros(len(on_cpu.anchor), len(words) + 1, dtype=torch.bool, device=device)
        matches[group, word] = True
        return to_device(words, device), matches


@dataclass(frozen=True)
class GroupMembers:
    """The members (anchors and positives) of all groups, and masks of the positives and negatives of each member."""

    members: Tensor  # (members,) index into items: the anchors, then the positives
    candidates: Tensor  # (candidates,) index into items: the members, then the hard negatives
    positives: Tensor  # (members, candidates), boolean
    negatives: Tensor  # (members, candidates), boolean
    groups: Groups
    member_group: Tensor  # (members,) the group of each member

    @classmethod
    def of(cls, batch: EmbeddedBatch, mask: bool) -> GroupMembers:
        groups = Groups.of_batch(batch)
        hard, member_group = groups.negatives, groups.member_group
        members = torch.cat([groups.anchor, batch.hypothesis[groups.positives]])
        candidates = torch.cat([members, batch.hypothesis[hard]])
        same = member_group.unsqueeze(1) == member_group  # (members, members)
        positives = same & ~torch.eye(len(members), dtype=torch.bool, device=member_group.device)
        is_anchor = torch.arange(len(members), device=member_group.device) < len(groups.anchor)
        # (members, hard negatives)
        of_anchor = is_anchor.unsqueeze(1) & (member_group.unsqueeze(1) == groups.pair_group[hard])
        negatives = torch.cat([~same, of_anchor], dim=1)
        if mask:
            negatives = negatives & ~groups.match_texts(batch.text[candidates])[member_group]
        none = torch.zeros_like(of_anchor)  # a hard negative is no positive
        return cls(members, candidates, torch.cat([positives, none], dim=1), negatives, groups, member_group)
