"""What all losses on the contrastive kernel share: similarity, memory bank, worker's share, mean and counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from trainables.lazy_torch import torch
from trainables.objectives.groups import Groups
from trainables.objectives.kernel import contrastive, in_parts, nearer
from trainables.objectives.objective import EmbeddedBatch, Loss, Objective, counts_of
from trainables.objectives.options import FILTERS, Softmax

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Comparison:
    """Anchors, candidates and masks over the whole batch; see `kernel.contrastive` for the masks."""

    anchors: Tensor  # (anchors, dim)
    candidates: Tensor  # (candidates, dim)
    text: Tensor  # (candidates,) their fingerprints
    positives: Tensor  # (anchors, candidates), boolean
    shared: Tensor  # (anchors, candidates), boolean
    groups: Groups
    owner: Tensor  # (anchors,) the group of each anchor
    ones: Tensor | None = None  # (anchors,) further terms of exp(0) in the denominators


@dataclass(frozen=True)
class Contrastive(Softmax, Objective):
    """The mean, over the anchors that have a positive, of the kernel's loss. A loss is its `compare`.

    Similarity is the cosine of projected embeddings (the dot product where `cosine` is False); `temperature` is
    tau, which divides it. A batch without an anchor gives 0.

    The entries of a memory bank are candidates of earlier batches: further negatives of every anchor, without
    gradient; never of one whose own text, or whose positive's, is the entry's, whatever `false_negatives` says.

    False negatives: with `false_negatives="mask"` a candidate whose text is the anchor's own or that of one of its
    positives is left out of the denominators, but for the positive in question itself. With "keep" it stays, as in the
    authors' code, which knows no texts. A second view of the anchor that serves as its positive is a positive.
    "guide" and "self" also leave out what is nearer to the anchor than the farthest of its positives by more than
    `filter_margin`: by the cosines of a frozen guide's embeddings, or by the similarity of the loss itself. Positives
    stay where they are. Counted negatives are those left; `filtered_negatives` are those that scores took.
    """

    cosine: ClassVar[bool] = True

    def compare(self, batch: EmbeddedBatch) -> Comparison:
        """Anchors, candidates and masks."""
        raise NotImplementedError

    def memory(self) -> tuple[int, int]:
        return self.bank, self.bank_warmup

    @property
    def filters(self) -> bool:
        return self.false_negatives in FILTERS

    def loss(self, batch: EmbeddedBatch, own: Any = None) -> Loss:
        comparison = self.compare(batch)
        candidates, positives, shared = comparison.candidates, comparison.positives, comparison.shared
        if batch.bank is not None:
            assert batch.bank_text is not None
            known = comparison.groups.agree(batch.bank_text)[comparison.owner]  # (anchors, entries)
            candidates = torch.cat([candidates, batch.bank.to(candidates.dtype)])
            positives = torch.cat([positives, torch.zeros_like(known)], dim=1)
            shared = torch.cat([shared, ~known], dim=1)
        taken: dict[str, Tensor] = {}
        if self.filters:
            near = self._near(batch, comparison, candidates, positives)
            taken = {"filtered_negatives": (shared & near & positives.any(dim=1, keepdim=True)).sum()}
            shared = shared & ~near
        mine = batch.share(len(comparison.anchors))
        losses = self._losses(
            comparison.anchors[mine],
            candidates,
            positives[mine],
            shared[mine],
            None if comparison.ones is None else comparison.ones[mine],
        )  # (anchors of this worker,)
        counts = counts_of(positives, shared & ~positives)
        contrasted = None
        if self.bank:
            used = (comparison.positives | comparison.shared).any(dim=0)  # by some anchor; neutral rows are not
            contrasted = (comparison.candidates[used].detach(), comparison.text[used])
        return Loss(losses.sum() / counts["anchors"].clamp(min=1), {**counts, **taken}, contrasted)

    def _near(self, batch: EmbeddedBatch, comparison: Comparison, candidates: Tensor, positives: Tensor) -> Tensor:
        """(anchors, candidates), boolean: which are nearer to the anchor than its positives."""
        anchors, cosine, margin = comparison.anchors, self.cosine, 0.1
        if self.false_negatives == "guide":
            assert batch.guide is not None, "the model gives the guide's embeddings"
            guided = self.compare(replace(batch, projected=batch.guide))
            anchors, candidates, cosine, margin = guided.anchors, guided.candidates, True, 0.0
        if cosine:
            anchors, candidates = (torch.nn.functional.normalize(those, dim=1) for those in (anchors, candidates))
        asked = margin if self.filter_margin is None else self.filter_margin
        return nearer(anchors, candidates, positives, asked, self.filter_by == "relative")

    def _losses(
        self, anchors: Tensor, candidates: Tensor, positives: Tensor, shared: Tensor, ones: Tensor | None
    ) -> Tensor:  # (anchors,)
        """The kernel's loss of each anchor."""
        if self.cosine:
            anchors, candidates = (torch.nn.functional.normalize(those, dim=1) for those in (anchors, candidates))

        def losses(part: slice) -> Tensor:
            scores = anchors[part] @ candidates.T / self.temperature
            return contrastive(scores, positives[part], shared[part], None if ones is None else ones[part])

        return in_parts(losses, len(anchors), len(candidates))
