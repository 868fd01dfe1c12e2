"""The base class of all losses on the contrastive kernel: similarity, memory bank, worker's share, mean and counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from trainables.lazy_torch import torch
from trainables.objectives.comparison import ContrastSet
from trainables.objectives.kernel import compute_in_parts, contrastive, nearer_than_positives
from trainables.objectives.objective import EmbeddedBatch, Loss, Objective, counts_of
from trainables.objectives.options import FILTERS, Softmax
from trainables.objectives.truly_false import count_false_negatives

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Contrastive(Softmax, Objective):
    """The mean of the kernel's loss over the anchors that have a positive. A subclass defines `compare`.

    Similarity is the cosine of projected embeddings (the dot product if `cosine` is False), divided by tau
    (`temperature`). A batch without an anchor gives 0.

    The entries of a memory bank are candidates of earlier batches: additional negatives of every anchor, without
    gradient. Whatever `false_negatives` is, an entry with the text of an anchor or its positives is not its negative.

    With `false_negatives="mask"` a candidate with the text of the anchor or of one of its positives is left out of the
    denominators, except that each positive stays in its own. With "keep" it stays, as in the authors' code, which does
    not compare texts. A second view of the anchor that serves as its positive is a positive. "guide" and "self" also
    leave out candidates that are nearer to the anchor than its farthest positive by more than `filter_margin`. "guide"
    measures this by cosines of a frozen guide's embeddings, "self" by the similarity of the loss itself. Positives are
    never left out. The sizes of `dims` use the same masks, computed from whole embeddings. The count of negatives
    excludes removed candidates; `filtered_negatives` counts the candidates that "guide" or "self" removed. For texts
    of a grammar see `truly_false.py`.
    """

    cosine: ClassVar[bool] = True

    def compare(self, batch: EmbeddedBatch) -> ContrastSet:
        """Return the anchors, candidates and masks of a batch."""
        raise NotImplementedError

    def memory_bank(self) -> tuple[int, int]:
        return self.bank, self.bank_warmup

    @property
    def filters(self) -> bool:
        return self.false_negatives in FILTERS

    def loss(self, batch: EmbeddedBatch, module: Any = None) -> Loss:
        unmasked = self._unmasked(batch)
        batch_alone = compared = self.compare(batch)
        if batch.bank is not None:
            assert batch.bank_text is not None
            compared = compared.with_bank(batch.bank, batch.bank_text)
        further: dict[str, Tensor] = {}
        if self.filters:
            near = self._near(batch, compared)
            filtered = compared.denominator & near & compared.positives.any(dim=1, keepdim=True)
            further = {"filtered_negatives": filtered.sum()}
            compared = replace(compared, denominator=compared.denominator & ~near)
        if unmasked is not None:
            assert batch.entailed is not None
            further |= count_false_negatives(batch.entailed, batch.text, unmasked, compared.denominator)
        mine = compared.rows(batch.share(len(compared.anchors)))
        tau = self.tau(batch.temperature)
        losses = self.at_widths(lambda width: self._losses(mine.cut(width), tau))  # (anchors of this worker,)
        counts = counts_of(compared.positives, compared.denominator & ~compared.positives)
        contrasted = None
        if self.bank:
            # The candidates that some anchor uses; neutral pairs are not used. `nonzero` makes the step wait for a GPU.
            used = (batch_alone.positives | batch_alone.denominator).any(dim=0).nonzero().squeeze(1)
            contrasted = (batch_alone.candidates[used].detach(), batch_alone.text[used])
        return Loss(losses.sum() / counts["anchors"].clamp(min=1), {**counts, **further}, contrasted)

    def _unmasked(self, batch: EmbeddedBatch) -> ContrastSet | None:
        """Return the comparison that keeps every candidate, from the same draws. None if no grammar made the texts."""
        if batch.entailed is None:
            return None
        draws = torch.Generator().set_state(batch.generator.get_state())
        keeping = replace(self, false_negatives="keep")
        return keeping.compare(replace(batch, projected=batch.projected.detach(), generator=draws))

    def _near(self, batch: EmbeddedBatch, compared: ContrastSet) -> Tensor:
        """Return (anchors, candidates), boolean: whether the candidate is nearer to the anchor than the anchor's
        farthest positive, by more than the margin."""
        judged_by, cosine, margin = compared, self.cosine, 0.1
        if self.false_negatives == "guide":
            assert batch.guide is not None, "the model gives the guide's embeddings"
            judged_by, cosine, margin = self.compare(replace(batch, projected=batch.guide)), True, 0.0
        limit = margin if self.filter_margin is None else self.filter_margin
        return nearer_than_positives(
            judged_by.normalised() if cosine else judged_by, limit, self.filter_by == "relative"
        )

    def _losses(self, compared: ContrastSet, temperature: float | Tensor) -> Tensor:  # (anchors,)
        scaled = compared.normalised() if self.cosine else compared

        def losses(part: slice) -> Tensor:
            own = scaled.rows(part)
            return contrastive(own.scores(temperature), own.positives, own.denominator, own.zero_scores)

        return compute_in_parts(losses, len(scaled.anchors), len(scaled.candidates))
