"""What a trial gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class TrialResult:
    """What the first worker knows at the end. A record in the ledger is made of it.

    `scores` maps a SentEval task to its numbers; it is empty where the trial was stopped early. `predictions` are the
    arrays to keep beside the record, as `trainables.senteval.Evaluation.kept` names them. `geometry` says how the
    embeddings lie. `training` is what was measured while training, `cost` seconds and memory, `data` what was read.
    """

    stopped: str | None = None
    """Why training ended early, if it did."""
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    predictions: dict[str, np.ndarray] = field(default_factory=dict)
    geometry: dict[str, Any] = field(default_factory=dict)
    """`alignment`, `uniformity`, `anisotropy`, and `sentences`: those of which tasks; empty where none was measured."""
    training: dict[str, Any] = field(default_factory=dict)
    cost: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
