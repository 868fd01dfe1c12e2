"""What a trial gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from trainables.record_parts import Evaluated, Geometry, TaskScores, Trained, TrainingNumbers, TrialCost
from trainables.senteval.evaluation import Embeddings
from trainables.trial.spec import TrialSpec

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class TrialResult:
    """What the first worker knows at the end. A record in the ledger is made of it."""

    stopped: str | None = None
    """Why training ended early, if it did."""
    scores: dict[str, TaskScores] = field(default_factory=dict)
    """By SentEval task; empty where the trial was stopped early."""
    predictions: dict[str, np.ndarray] = field(default_factory=dict)
    """The arrays to keep beside the record, named as in `trainables.senteval.SentEvalResult.kept`."""
    geometry: Geometry = field(default_factory=Geometry)
    training: TrainingNumbers = field(default_factory=TrainingNumbers)
    cost: TrialCost = field(default_factory=TrialCost)
    data: Trained = field(default_factory=Trained)
    """What training read."""
    evaluated: Evaluated = field(default_factory=Evaluated)
    """What the evaluation read."""
    card: str | None = None
    """The text of the saved model's README, which belongs into its folder (`write_card`); None: no model was saved."""


@dataclass(frozen=True)
class Unscored:
    """A trial after its last embedding: `trainables.trial.save_and_score.score` makes its result, here or elsewhere.

    That process needs no GPU, but the evaluation and training data under the same paths, and whatever plugins the
    recipe names. It can be pickled.
    """

    spec: TrialSpec
    embeddings: Embeddings
    result: TrialResult
    """As far as it is known before scoring."""
    model: Path | None
    """Where the model was saved; None: it was not."""
