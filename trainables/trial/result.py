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
    arrays to keep beside the record: `TASK` what was predicted for each test example, `gold.TASK` what is right, and
    `parts.TASK` the sizes of the sub-corpora in order. `training` is what was measured while training, `cost` seconds
    and memory, `data` what was read.
    """

    stopped: str | None = None
    """Why training ended early, if it did."""
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    predictions: dict[str, np.ndarray] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    cost: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
