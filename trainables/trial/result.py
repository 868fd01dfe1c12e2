"""What a trial gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainables.evaluation_config import EvaluationConfig
from trainables.keys import Value
from trainables.senteval.evaluation import Embeddings

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
    card: str | None = None
    """The text of the saved model's README, which belongs into its folder (`write_card`); None: no model was saved."""


@dataclass(frozen=True)
class Unscored:
    """A trial after its last embedding: `trainables.trial.save_and_score.score` makes its result, here or elsewhere.

    That process needs no GPU, but the evaluation and training data under the same paths, and whatever plugins the
    recipe names. This can be pickled; the other fields are those of `TrialResult`, as far as they are known.
    """

    recipe: Mapping[str, Value]
    """`Recipe.flat()`."""
    evaluation: EvaluationConfig
    seed: int
    embeddings: Embeddings
    predictions: dict[str, np.ndarray]
    training: dict[str, Any]
    cost: dict[str, Any]
    data: dict[str, Any]
    model: Path | None
    """Where the model was saved; None: it was not."""
