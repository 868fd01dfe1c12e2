"""The end of a trial: the model is saved, scored, and described."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from trainables.encoders.contract import BaseEncoder, Encoder
from trainables.encoders.model_card import model_card, write_card
from trainables.recipe import Recipe
from trainables.senteval import Evaluation
from trainables.trial.evaluation import Evaluator
from trainables.trial.measure import Clock
from trainables.trial.overlap import overlap
from trainables.trial.result import TrialResult


def save_model(encoder: BaseEncoder, folder: Path | None) -> Path | None:
    """Save it as a sentence-transformers model and return the folder.

    None where there is no folder, or where stock modules cannot give the embeddings.
    """
    if folder is None or encoder.unsavable is not None:
        return None
    encoder.save(folder)
    return folder


def finish(
    recipe: Recipe,
    seed: int,
    encoder: Encoder,
    evaluator: Evaluator,
    clock: Clock,
    *,
    training: dict[str, Any],
    data: dict[str, Any],
    model: Path | None,
) -> TrialResult:
    """Score the encoder; the result is empty on all workers but the first.

    `recipe` is the resolved one. `model` is the folder that the encoder was saved to: it gets a README with recipe and
    scores.
    """
    cosines = evaluator.cosines(encoder)
    evaluation = evaluator.score(encoder)
    if evaluation is None:
        return TrialResult()
    seen = _overlap(recipe, evaluation, data, evaluator)  # before the clock is read, so that its time is counted
    result = TrialResult(
        scores=evaluation.tasks,
        predictions={**evaluation.kept, **cosines},
        geometry=evaluation.geometry,
        training=training,
        cost=clock.cost(evaluator.workers),
        data={**data, **evaluator.description, **seen},
    )
    if model is not None:
        write_card(model, model_card(recipe.flat(), seed, result.scores, result.data, training))
    return result


def _overlap(recipe: Recipe, evaluation: Evaluation, data: dict[str, Any], evaluator: Evaluator) -> dict[str, Any]:
    """For the record; empty where it is not known. Whatever goes wrong here, the trained and scored trial is kept."""
    fingerprints = data.get("corpus", {}).get("fingerprint"), evaluator.description["senteval"]["fingerprint"]
    try:
        found = overlap(recipe, evaluation.predictions, fingerprints)
    except Exception as error:  # a plugin's layout may raise anything
        why = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"test sentences seen in training are not counted ({why})", file=sys.stderr, flush=True)
        return {}
    return {} if found is None else {"overlap": found}
