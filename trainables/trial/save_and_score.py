"""The end of a trial: the model is saved, embeds the sentences of SentEval, and is scored and described.

unscored = embed_and_score(recipe, seed, encoder, evaluator, clock, ...)   # the last thing that needs the encoder
result = score(unscored)                                          # needs no GPU: any process can do it
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from trainables.encoders.contract import BaseEncoder, Encoder
from trainables.encoders.model_card import model_card, write_card
from trainables.errors import unforeseen
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.senteval import Evaluation, import_late
from trainables.senteval.evaluation import Embeddings
from trainables.trial.data_requests import senteval_folder
from trainables.trial.evaluation import Evaluator, describe_senteval, score_senteval
from trainables.trial.measure import Clock, after_scoring, gpus_of
from trainables.trial.overlap import overlap
from trainables.trial.peak import Peak
from trainables.trial.result import TrialResult, Unscored


def save_model(encoder: BaseEncoder, folder: Path | None) -> Path | None:
    """Save it as a sentence-transformers model and return the folder.

    None where there is no folder, or where stock modules cannot give the embeddings.
    """
    if folder is None or encoder.unsavable is not None:
        return None
    encoder.save(folder)
    return folder


def embed_and_score(
    recipe: Recipe,
    seed: int,
    encoder: Encoder,
    evaluator: Evaluator,
    clock: Clock,
    *,
    training: dict[str, Any],
    data: dict[str, Any],
    model: Path | None,
    hand_over: bool,
) -> TrialResult | Unscored:
    """Embed all that is scored, and score it unless it is handed over; empty on all workers but the first.

    `model` is the folder that the encoder was saved to: it gets a README with recipe and
    scores, unless they are handed over.
    """
    cosines = evaluator.cosines(encoder)
    embeddings = evaluator.embed(encoder)
    if embeddings is None:
        return TrialResult()
    known = {**data, **evaluator.description}
    encoding = {"encode_ms": embeddings.encode_ms, "embedding_dim": embeddings.vectors.shape[1]}
    cost = {**clock.cost(evaluator.workers), **encoding}
    unscored = Unscored(recipe.flat(), evaluator.config, seed, embeddings, cosines, training, cost, known, model)
    if hand_over:
        return unscored
    result = score(unscored, gpus=gpus_of(evaluator.workers), peak=clock.peak)
    if model is not None and result.card is not None:
        write_card(model, result.card)
    return result


def score(unscored: Unscored, *, gpus: float = 0.0, peak: Peak | None = None) -> TrialResult:
    """Fit the classifiers and score a trial. `gpus` are held meanwhile, and their seconds counted.

    `peak` is the trial's own. Without it this may be another process: what that takes counts, unless the trial's memory
    is a GPU's.

    Raises `UserError` where the evaluation data is no longer that of the embeddings.
    """
    began = time.perf_counter()
    recipe, asked = Recipe.from_flat(unscored.recipe), unscored.evaluation
    if peak is None and not unscored.cost["gpu_seconds"]:
        import_late()
        peak = Peak()
    evaluation = score_senteval(asked, unscored.embeddings)
    data = {**unscored.data, **describe_senteval(asked, evaluation)}
    data |= _overlap(recipe, asked, evaluation, data)
    data |= scores_at_widths(recipe, asked, unscored.embeddings)
    card = model_card(unscored.recipe, asked, unscored.seed, evaluation.tasks, data, unscored.training)
    seconds = time.perf_counter() - began
    return TrialResult(
        scores=evaluation.tasks,
        predictions={**evaluation.kept, **unscored.predictions},
        geometry=evaluation.geometry,
        training=unscored.training,
        cost=after_scoring(unscored.cost, seconds, gpus, peak.taken() if peak else None),
        data=data,
        card=None if unscored.model is None else card,
    )


def scores_at_widths(recipe: Recipe, asked: EvaluationConfig, embeddings: Embeddings) -> dict[str, Any]:
    """For the record, the scores of embeddings that are cut at each of `objective.dims`; empty where there are none."""
    dims = recipe.flat().get("objective.dims")
    if not isinstance(dims, tuple) or not dims:
        return {}
    cut = {width: replace(embeddings, vectors=embeddings.vectors[:, : int(width)].copy()) for width in dims}
    return {"widths": {width: score_senteval(asked, cut[width]).tasks for width in dims}}


def _overlap(recipe: Recipe, asked: EvaluationConfig, evaluation: Evaluation, data: dict[str, Any]) -> dict[str, Any]:
    """For the record; empty where it is not known. Whatever goes wrong here, the trained and scored trial is kept."""
    fingerprints = data.get("corpus", {}).get("fingerprint"), data["senteval"]["fingerprint"]
    tested = [task for task in evaluation.tasks if task in evaluation.answers]
    if not tested:
        return {}
    try:
        found = overlap(recipe, senteval_folder(asked.senteval), tested, fingerprints)
    except Exception as error:  # a plugin's layout may raise anything
        print(f"test sentences seen in training are not counted ({unforeseen(error)})", file=sys.stderr, flush=True)
        return {}
    return {} if found is None else {"overlap": found}
