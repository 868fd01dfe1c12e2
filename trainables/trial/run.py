"""Run a trial: build its parts from the recipe, train, evaluate.

result = run_trial(recipe, 1, evaluation, model_folder=Path("model"))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from trainables.encoders.adapter import AdaptedEncoder
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.record_parts import Trained, TrainingNumbers
from trainables.senteval import import_late
from trainables.training.distributed import Workers
from trainables.training.loop import TrainingDivergedError, train
from trainables.training.model import TEMPERATURE
from trainables.training.population_training import embed_ahead
from trainables.trial.build import (
    TrainingParts,
    base_fingerprint,
    build_encoder,
    build_training,
    describe_encoder,
    postprocessed,
)
from trainables.trial.evaluation import Evaluator
from trainables.trial.measure import TrialClock, training_numbers
from trainables.trial.population import run_population
from trainables.trial.reporter import Reporter
from trainables.trial.result import TrialResult, Unscored
from trainables.trial.save_and_score import embed_and_score, save_model
from trainables.trial.soup import score_soup
from trainables.trial.spec import TrialSpec
from trainables.trial.watcher import TrialWatcher


def run_trials(
    specs: Sequence[TrialSpec],
    *,
    workers: Workers | None = None,
    reporter: Reporter | None = None,
    resume: Path | None = None,
    embedding_folder: Path | None = None,
    hand_over: bool = False,
) -> Iterator[TrialResult | Unscored | None]:
    """Run one trial, or several as a population (`population_key`), and yield their results one by one.

    For a member whose result exists (`TrialSpec.done`), None is yielded. A population runs on one worker only.
    """
    if len(specs) > 1:
        yield from run_population(
            specs,
            workers=workers,
            reporter=reporter,
            resume=resume,
            embedding_folder=embedding_folder,
            hand_over=hand_over,
        )
        return
    (spec,) = specs
    if spec.soup is not None:
        yield score_soup(spec, workers=workers, reporter=reporter, hand_over=hand_over)
        return
    yield run_trial(
        spec.recipe,
        spec.seed,
        spec.evaluation,
        model_folder=spec.model_folder,
        workers=workers,
        reporter=reporter,
        resume=resume,
        embedding_folder=embedding_folder,
        hand_over=hand_over,
    )


def run_trial(
    recipe: Recipe,
    seed: int,
    evaluation: EvaluationConfig,
    *,
    model_folder: Path | None = None,
    workers: Workers | None = None,
    reporter: Reporter | None = None,
    resume: Path | None = None,
    embedding_folder: Path | None = None,
    hand_over: bool = False,
) -> TrialResult | Unscored:
    """Train and evaluate a recipe. Every worker calls the function; only the result of the first worker has scores.

    `model_folder` receives the trained encoder. In `embedding_folder` trials share embeddings of frozen encoders.
    `resume`: the folder of a checkpoint. With `hand_over` the trial ends after its last embedding and
    returns an `Unscored` for `save_and_score.score`. Raises `Interrupted` on every worker if the reporter ends the
    training at a checkpoint.
    """
    import_late()
    spec = TrialSpec(recipe, seed, evaluation, model_folder)
    clock, workers, reporter = TrialClock(), workers or Workers(), reporter or Reporter()
    base = build_encoder(recipe, seed, embedding_folder)
    evaluator = Evaluator(evaluation, workers)
    evaluator.before_training(base)
    trained: TrainingNumbers = {}
    fingerprint = base_fingerprint(base)
    training = build_training(recipe, seed, base, embedding_folder) if recipe.trains else None
    data: Trained = {"encoder": describe_encoder(recipe, fingerprint, base, training.model if training else None)}
    if training:
        data["corpus"] = training.description
        watcher = TrialWatcher(base, evaluator, workers, reporter, recipe.optimisation)
        trained, stopped = _train(recipe, seed, training, watcher, workers, resume)
        clock.resumed = trained.get("resumed_seconds", 0.0)
        if stopped:
            clock.training_ended()
            return TrialResult(stopped, training=trained, cost=clock.cost(workers), data=data)
    encoder = postprocessed(recipe, base)
    clock.training_ended()
    model = save_model(base, model_folder) if trained and workers.rank == 0 else None
    return embed_and_score(
        spec, encoder, evaluator, clock, training=trained, data=data, model=model, hand_over=hand_over
    )


def _train(
    recipe: Recipe, seed: int, training: TrainingParts, watcher: TrialWatcher, workers: Workers, resume: Path | None
) -> tuple[TrainingNumbers, str | None]:
    """Train the encoder in place. Return the measured numbers, and why training ended early (None if it did not)."""
    model, sampler = training.model, training.sampler
    steps = recipe.optimisation.steps(sampler.steps_per_epoch)
    if isinstance(model.encoder, AdaptedEncoder):
        embed_ahead(model.encoder.store, sampler, steps)
    if model.guide is not None:
        embed_ahead(model.guide, sampler, steps)
    watcher.reporter.begin(steps)
    stopped = None
    try:
        progress = train(model, sampler, recipe, seed, watcher, workers, resume)
    except TrainingDivergedError as error:
        progress, stopped = error.progress, f"diverged: {error}"
    stopped = stopped or watcher.stopped
    more: dict[str, Any] = {} if stopped or progress.kept is None else {"kept": progress.kept}
    if model.temperature is not None:
        more[TEMPERATURE] = model.temperature().item()
    if progress.rungs:
        more["rungs"] = progress.rungs
    if progress.rungs or recipe.optimisation.patience is not None:
        more["planned_steps"] = steps
    return training_numbers(progress, watcher.resumed_seconds(progress.seconds), **more), stopped
