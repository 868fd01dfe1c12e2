"""A trial as it is run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe


@dataclass(frozen=True)
class Soup:
    """Saved models of a recipe's trainings, whose average is scored in place of a training."""

    models: tuple[Path, ...]
    """Their folders."""
    share: float
    """Of the training; the rest is of the untrained encoder."""


@dataclass(frozen=True)
class TrialSpec:
    """A recipe under a seed, how its model is scored, and where that is saved."""

    recipe: Recipe
    seed: int
    evaluation: EvaluationConfig = EvaluationConfig()
    model_folder: Path | None = None
    """Receives the trained encoder as a sentence-transformers model."""
    done: bool = False
    """Whether its result exists already: in a population it is trained again, but not scored."""
    soup: Soup | None = None
    """None: it trains, if its recipe does."""
