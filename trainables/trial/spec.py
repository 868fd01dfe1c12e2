"""The specification of a trial."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe


@dataclass(frozen=True)
class Soup:
    """Saved models of a recipe, of which a trial scores the average. It trains nothing."""

    models: tuple[Path, ...]
    share: float
    """Weight of the average in the scored model. The original encoder has the rest of the weight."""


@dataclass(frozen=True)
class TrialSpec:
    """Recipe, seed, evaluation and model folder of a trial."""

    recipe: Recipe
    seed: int
    evaluation: EvaluationConfig = EvaluationConfig()
    model_folder: Path | None = None
    """Folder for the trained encoder, as a sentence-transformers model. None: the encoder is not saved."""
    done: bool = False
    """Whether the result exists already. In a population the trial is then trained again, but not scored."""
    soup: Soup | None = None
    """Models whose average is scored. None: the trial trains its recipe, or scores the original encoder."""
