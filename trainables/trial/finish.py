"""The end of a trial: the model is saved, scored, and described."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trainables.encoders.contract import Encoder, savable
from trainables.encoders.model_card import model_card, write_card
from trainables.recipe import Recipe
from trainables.trial.evaluation import Evaluator
from trainables.trial.measure import Clock
from trainables.trial.result import TrialResult


def finish(
    recipe: Recipe,
    seed: int,
    encoder: Encoder,
    evaluator: Evaluator,
    clock: Clock,
    *,
    training: dict[str, Any],
    data: dict[str, Any],
    model_folder: Path | None,
) -> TrialResult:
    """Save the encoder into `model_folder`, if there is one, and score it. Empty on other workers than the first."""
    saved = model_folder if model_folder is not None and savable(encoder) else None
    if saved is not None:
        encoder.save(saved)
    cosines = evaluator.cosines(encoder)
    evaluation = evaluator.score(encoder)
    if evaluation is None:
        return TrialResult()
    result = TrialResult(
        scores=evaluation.tasks,
        predictions={**evaluation.kept, **cosines},
        training=training,
        cost=clock.cost(evaluator.workers),
        data={**data, **evaluator.description},
    )
    if saved is not None:
        write_card(saved, model_card(recipe.flat(), seed, result.scores, result.data))
    return result
