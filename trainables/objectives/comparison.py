"""The input of a contrastive loss: anchors, candidates, and the masks between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trainables.lazy_torch import torch
from trainables.objectives.groups import Groups
from trainables.objectives.objective import EmbeddedBatch

if TYPE_CHECKING:
    from torch import Tensor

ANCHOR_FIELDS = ("anchors", "positives", "denominator", "anchor_group", "zero_scores", "partners", "hardness")


@dataclass(frozen=True)
class ContrastSet:
    """Anchors, candidates and masks over the whole batch; see `kernel.contrastive` for the masks."""

    anchors: Tensor  # (anchors, dim)
    candidates: Tensor  # (candidates, dim)
    text: Tensor  # (candidates,) fingerprints of the candidates' texts
    positives: Tensor  # (anchors, candidates), boolean
    denominator: Tensor  # (anchors, candidates), boolean
    groups: Groups
    anchor_group: Tensor  # (anchors,) the group of each anchor
    zero_scores: Tensor | None = None  # (anchors,) number of additional terms exp(0) in each denominator
    partners: Tensor | None = None
    """(anchors, dim): vectors that replace the anchors when compared with the first `partner_candidates` candidates."""
    partner_candidates: int = 0
    hardness: Tensor | None = None
    """(anchors, candidates): a factor for each score. Factor times similarity is added to it, without gradient."""

    @classmethod
    def of_groups(cls, batch: EmbeddedBatch, groups: Groups, positives: Tensor, denominator: Tensor) -> ContrastSet:
        """Compare the anchor of each group with the second texts of all pairs. The masks are (groups, pairs)."""
        return cls(
            batch.projected[groups.anchor],
            batch.projected[batch.hypothesis],
            batch.text[batch.hypothesis],
            positives,
            denominator,
            groups,
            torch.arange(len(positives), device=positives.device),
        )

    def rows(self, part: slice) -> ContrastSet:
        """Return a copy with the anchors in `part` only, and all candidates."""
        return replace(
            self, **{name: value[part] for name in ANCHOR_FIELDS if (value := getattr(self, name)) is not None}
        )

    def cut(self, width: int | None) -> ContrastSet:
        """Return a copy with the first `width` numbers of each vector; None: with all numbers."""
        return self._with_each(lambda vectors: vectors[:, :width])

    def normalised(self) -> ContrastSet:
        """Return a copy with vectors of length 1, so that similarities are cosines."""
        return self._with_each(lambda vectors: torch.nn.functional.normalize(vectors, dim=1))

    def _with_each(self, change: Callable[[Tensor], Tensor]) -> ContrastSet:
        partners = None if self.partners is None else change(self.partners)
        return replace(self, anchors=change(self.anchors), candidates=change(self.candidates), partners=partners)

    def with_bank(self, vectors: Tensor, text: Tensor) -> ContrastSet:
        """Return a copy with the entries of a memory bank, (entries, dim), as more candidates. An entry is a negative
        of each anchor whose group does not contain the text of the entry."""
        matches = self.groups.match_texts(text)[self.anchor_group]  # (anchors, entries)
        return replace(
            self,
            candidates=torch.cat([self.candidates, vectors.to(self.candidates.dtype)]),
            positives=torch.cat([self.positives, torch.zeros_like(matches)], dim=1),
            denominator=torch.cat([self.denominator, ~matches], dim=1),
        )

    def similarities(self) -> Tensor:  # (anchors, candidates)
        """Return the dot products of anchors and candidates."""
        if self.partners is None:
            return self.anchors @ self.candidates.T
        theirs, own = self.candidates[: self.partner_candidates], self.candidates[self.partner_candidates :]
        return torch.cat([self.partners @ theirs.T, self.anchors @ own.T], dim=1)

    def scores(self, temperature: float | Tensor) -> Tensor:  # (anchors, candidates)
        """Return similarities divided by tau, plus `hardness` times the similarities."""
        alike = self.similarities()
        scores = alike / temperature
        return scores if self.hardness is None else scores + self.hardness * alike.detach()
