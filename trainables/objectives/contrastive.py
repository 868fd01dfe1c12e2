"""What all losses on the contrastive kernel share: similarity, memory bank, worker's share, mean and counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from trainables.lazy_torch import torch
from trainables.objectives.comparison import ContrastSet
from trainables.objectives.kernel import contrastive, in_parts, nearer
from trainables.objectives.objective import EmbeddedBatch, Loss, Objective, counts_of
from trainables.objectives.options import FILTERS, Softmax
from trainables.objectives.truly_false import judged

if TYPE_CHECKING:
    from torch import Tensor


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
    stay where they are; widths of `dims` all have the same, found by whole embeddings. Counted negatives are those
    left; `filtered_negatives` are those that scores took. Where a grammar knows the texts, see `truly_false.py`.
    """

    cosine: ClassVar[bool] = True

    def compare(self, batch: EmbeddedBatch) -> ContrastSet:
        """Anchors, candidates and masks."""
        raise NotImplementedError

    def memory(self) -> tuple[int, int]:
        return self.bank, self.bank_warmup

    @property
    def filters(self) -> bool:
        return self.false_negatives in FILTERS

    def loss(self, batch: EmbeddedBatch, own: Any = None) -> Loss:
        unmasked = self._unmasked(batch)
        batch_alone = compared = self.compare(batch)
        if batch.bank is not None:
            assert batch.bank_text is not None
            compared = compared.with_bank(batch.bank, batch.bank_text)
        further: dict[str, Tensor] = {}
        if self.filters:
            near = self._near(batch, compared)
            filtered = compared.shared & near & compared.positives.any(dim=1, keepdim=True)
            further = {"filtered_negatives": filtered.sum()}
            compared = replace(compared, shared=compared.shared & ~near)
        if unmasked is not None:
            assert batch.entailed is not None
            further |= judged(batch.entailed, batch.text, unmasked, compared.shared)
        mine = compared.rows(batch.share(len(compared.anchors)))
        tau = self.tau(batch.temperature)
        losses = self.at_widths(lambda width: self._losses(mine.cut(width), tau))  # (anchors of this worker,)
        counts = counts_of(compared.positives, compared.shared & ~compared.positives)
        contrasted = None
        if self.bank:
            # By some anchor; neutral rows are not. A step with a bank waits here, for how many they are.
            used = (batch_alone.positives | batch_alone.shared).any(dim=0).nonzero().squeeze(1)
            contrasted = (batch_alone.candidates[used].detach(), batch_alone.text[used])
        return Loss(losses.sum() / counts["anchors"].clamp(min=1), {**counts, **further}, contrasted)

    def _unmasked(self, batch: EmbeddedBatch) -> ContrastSet | None:
        """What it would compare if it kept every candidate, with the same draws; where somebody can judge that."""
        if batch.entailed is None:
            return None
        draws = torch.Generator().set_state(batch.generator.get_state())
        keeping = replace(self, false_negatives="keep")
        return keeping.compare(replace(batch, projected=batch.projected.detach(), generator=draws))

    def _near(self, batch: EmbeddedBatch, compared: ContrastSet) -> Tensor:
        """(anchors, candidates), boolean: which are nearer to the anchor than its positives."""
        judged_by, cosine, margin = compared, self.cosine, 0.1
        if self.false_negatives == "guide":
            assert batch.guide is not None, "the model gives the guide's embeddings"
            judged_by, cosine, margin = self.compare(replace(batch, projected=batch.guide)), True, 0.0
        limit = margin if self.filter_margin is None else self.filter_margin
        return nearer(judged_by.normalised() if cosine else judged_by, limit, self.filter_by == "relative")

    def _losses(self, compared: ContrastSet, temperature: float | Tensor) -> Tensor:  # (anchors,)
        """The kernel's loss of each anchor."""
        scaled = compared.normalised() if self.cosine else compared

        def losses(part: slice) -> Tensor:
            own = scaled.rows(part)
            return contrastive(own.scores(temperature), own.positives, own.shared, own.ones)

        return in_parts(losses, len(scaled.anchors), len(scaled.candidates))
