"""The results of a trial."""

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
    """The result of a trial on its first worker. The record in the ledger is made from it."""

    stopped: str | None = None
    """Why training ended early; None if it did not."""
    scores: dict[str, TaskScores] = field(default_factory=dict)
    """Scores by SentEval task; empty if training ended early."""
    predictions: dict[str, np.ndarray] = field(default_factory=dict)
    """The arrays to store with the record, named as in `trainables.senteval.SentEvalResult.kept`."""
    geometry: Geometry = field(default_factory=Geometry)
    training: TrainingNumbers = field(default_factory=TrainingNumbers)
    cost: TrialCost = field(default_factory=TrialCost)
    data: Trained = field(default_factory=Trained)
    """Description of the encoder and of the training data."""
    evaluated: Evaluated = field(default_factory=Evaluated)
    """Description of the evaluation data."""
    card: str | None = None
    """The text of the saved model's README, for its folder (`write_card`); None: no model was saved."""


@dataclass(frozen=True)
class Unscored:
    """A trial that is embedded but not scored. Any process can score it by `trainables.trial.save_and_score.score`.

    That process needs no GPU. It needs the evaluation and training data at the same paths, and the recipe's plugins.
    An `Unscored` can be pickled.
    """

    spec: TrialSpec
    embeddings: Embeddings
    result: TrialResult
    """The parts of the result that are known before scoring."""
    model: Path | None
    """The folder of the saved model; None: it was not saved."""
