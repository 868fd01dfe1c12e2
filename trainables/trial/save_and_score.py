"""The end of a trial: save the model, embed SentEval's sentences, score the embeddings and describe the model.

unscored = embed_and_score(spec, encoder, evaluator, clock, ...)   # the last step that needs the encoder
result = score(unscored)                                          # needs no GPU: any process can do it
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from trainables.encoders.contract import BaseEncoder, Encoder
from trainables.encoders.model_card import model_card, write_card
from trainables.errors import describe_error
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.record_parts import Evaluated, TaskScores, Trained, TrainingNumbers, TrialCost
from trainables.senteval import SentEvalResult, import_late
from trainables.senteval.evaluation import Embeddings
from trainables.senteval.items import IN_TRAINING, SEEN, Answers
from trainables.senteval.sizes import Sizes, Variant
from trainables.trial.data_requests import senteval_folder
from trainables.trial.evaluation import Evaluator, describe_senteval, score_senteval
from trainables.trial.measure import TrialClock, after_scoring, gpus_of
from trainables.trial.overlap import overlap
from trainables.trial.peak import Peak
from trainables.trial.result import TrialResult, Unscored
from trainables.trial.spec import TrialSpec


def save_model(encoder: BaseEncoder, folder: Path | None) -> Path | None:
    """Save the encoder as a sentence-transformers model and return the folder.

    None without a folder, or if modules of sentence-transformers cannot compute the embeddings.
    """
    if folder is None or encoder.unsavable is not None:
        return None
    encoder.save(folder)
    return folder


def embed_and_score(
    spec: TrialSpec,
    encoder: Encoder,
    evaluator: Evaluator,
    clock: TrialClock,
    *,
    training: TrainingNumbers,
    data: Trained,
    model: Path | None,
    hand_over: bool,
) -> TrialResult | Unscored:
    """Embed the evaluation's sentences, and score them unless `hand_over`. Other workers than the first get an empty
    result. `model`: the folder of the saved encoder. Unless `hand_over`, a README with recipe and scores is written
    there."""
    cosines = evaluator.cosines(encoder)
    embeddings = evaluator.embed(encoder)
    if embeddings is None:
        return TrialResult()
    cost: TrialCost = {
        **clock.cost(evaluator.workers),
        "encode_ms": embeddings.encode_ms,
        "embedding_dim": embeddings.vectors.shape[1],
    }
    before = TrialResult(predictions=cosines, training=training, cost=cost, data=data, evaluated=evaluator.description)
    unscored = Unscored(spec, embeddings, before, model)
    if hand_over:
        return unscored
    result = score(unscored, gpus=gpus_of(evaluator.workers), peak=clock.peak)
    if model is not None and result.card is not None:
        write_card(model, result.card)
    return result


def score(unscored: Unscored, *, gpus: float = 0.0, peak: Peak | None = None) -> TrialResult:
    """Fit the classifiers and score a trial. `gpus`: GPUs held meanwhile, for the cost. `peak`: the trial's memory;
    None: the memory of this process is measured, except for a trial on a GPU. Raises `UserError` if the evaluation data
    has changed since the embeddings were made."""
    began = time.perf_counter()
    recipe, config, before = unscored.spec.recipe, unscored.spec.evaluation, unscored.result
    if peak is None and not before.cost["gpu_seconds"]:
        import_late()
        peak = Peak()
    evaluation = score_senteval(config, unscored.embeddings)
    evaluated: Evaluated = {**before.evaluated, "senteval": describe_senteval(config, evaluation)}
    seen = _seen(recipe, config, evaluation, before.data, evaluated)
    if seen is not None:
        evaluated["overlap"] = {
            task: {"items": len(each), "seen": int((each & IN_TRAINING > 0).sum())} for task, each in seen.items()
        }
    widths = scores_at_widths(recipe, config, unscored.embeddings)
    card = model_card(
        recipe.flat(),
        config,
        unscored.spec.seed,
        evaluation.tasks,
        {**before.data, **evaluated, **widths},
        before.training,
    )
    seconds = time.perf_counter() - began
    return replace(
        before,
        scores=_scores(evaluation),
        predictions={**replace(evaluation, answers=marked(evaluation.answers, seen or {})).kept, **before.predictions},
        geometry=evaluation.geometry,
        cost=after_scoring(before.cost, seconds, gpus, peak.in_mebibytes() if peak else None),
        data={**before.data, **widths},
        evaluated=evaluated,
        card=None if unscored.model is None else card,
    )


def scores_at_widths(recipe: Recipe, config: EvaluationConfig, embeddings: Embeddings) -> Trained:
    """Return the scores of embeddings cut at each of `objective.dims`, for the record; empty without `dims`."""
    dims = recipe.flat().get("objective.dims")
    if not isinstance(dims, tuple) or not dims:
        return {}
    sizes = Sizes(embeddings, senteval_folder(config.senteval), config.tasks)
    return {"widths": {width: _scores(score_senteval(config, sizes.resize(Variant(int(width))))) for width in dims}}


def _scores(evaluation: SentEvalResult) -> dict[str, TaskScores]:
    return cast(dict[str, TaskScores], evaluation.tasks)  # a plugin's kind of task may have more entries


def marked(answers: Mapping[str, Answers], seen: Mapping[str, np.ndarray]) -> dict[str, Answers]:
    """Return the answers by task, with the marks of test items (`SEEN`), if these are known."""
    return {
        name: replace(own, further_arrays={**own.further_arrays, SEEN: seen[name]})
        if name in seen and len(seen[name]) == len(own.gold)
        else own
        for name, own in answers.items()
    }


def _seen(
    recipe: Recipe, config: EvaluationConfig, evaluation: SentEvalResult, data: Trained, evaluated: Evaluated
) -> dict[str, np.ndarray] | None:
    """Return, by task, the marks of test items (`overlap`); None if unknown. All errors are caught, so that the trained
    and scored trial is kept."""
    fingerprints = data.get("corpus", {}).get("fingerprint"), evaluated["senteval"].get("fingerprint")
    if evaluation.answers.keys().isdisjoint(evaluation.tasks):
        return None
    scored = [task for task in evaluation.tasks if not evaluation.answers.keys().isdisjoint((task, f"dev.{task}"))]
    try:
        return overlap(recipe, senteval_folder(config.senteval), scored, fingerprints)
    except Exception as error:  # a plugin's layout may raise anything
        print(f"test sentences seen in training are not counted ({describe_error(error)})", file=sys.stderr, flush=True)
        return None
