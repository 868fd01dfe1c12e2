"""Masked language modelling alone."""

from __future__ import annotations

from dataclasses import dataclass

from trainables.objectives.objective import Objective


@dataclass(frozen=True)
class MaskedLanguage(Objective):
    """DeCLUTR, Figure 3, "MLM": no contrastive loss. The model adds `objective.mlm` times its MLM loss."""

    name = "mlm"
    meaning = "masked language modelling alone (DeCLUTR)"
    layouts = ("sentences", "spans")
    mlm_only = True
    contrasts = False
