"""The specification of a trial."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe


@dataclass(frozen=True)
class Soup:
    """Saved models of a recipe. Their average is scored instead of a training."""

    models: tuple[Path, ...]
    share: float
    """Weight of the average; the untrained encoder has the rest."""


@dataclass(frozen=True)
class TrialSpec:
    """Recipe, seed, evaluation and model folder of a trial."""

    recipe: Recipe
    seed: int
    evaluation: EvaluationConfig = EvaluationConfig()
    model_folder: Path | None = None
    """Receives the trained encoder as a sentence-transformers model."""
    done: bool = False
    """Whether the result exists already. In a population the trial is then trained again, but not scored."""
    soup: Soup | None = None
    """None: the trial trains, if its recipe does."""
