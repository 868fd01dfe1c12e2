"""Masked language modelling alone."""

from __future__ import annotations

from trainables.objectives.objective import EmbeddedBatch, Loss, Objective


class MaskedLanguage(Objective):
    """DeCLUTR, Figure 3, "MLM": no contrast at all. It gives 0; the model adds `objective.mlm` times its MLM loss."""

    needs_embeddings = False

    def forward(self, batch: EmbeddedBatch) -> Loss:
        return Loss(batch.embeddings.new_zeros(()))
