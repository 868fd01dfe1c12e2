"""One Ray Train worker of a trial, and the Tune driver above it.

`drive` is what Ray Tune runs for a trial; it starts a `TorchTrainer` whose workers run `work`. The first worker
writes the trial's record into the ledger itself, so that no later death can lose it.
"""

from __future__ import annotations

import datetime
import io
import json
import shutil
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import ray.train
import torch
from ray import tune
from ray.train.torch import TorchTrainer
from ray.tune.integration.ray_train import TuneReportCallback

from reports.ledger import LEDGER, MODELS, PREDICTIONS, Ledger, Record, add_losses
from search_spaces.goals import selection
from study.failures import failure_path, keep_failure
from study.spec import MEMBERS, METRIC, RUNG, TRAIN, TrialSpec, answer_path, from_config
from study.versions import versions
from trainables.errors import UserError
from trainables.files import write_whole
from trainables.recipe import Recipe
from trainables.training.distributed import Workers
from trainables.trial import Reporter, TrialResult
from trainables.trial.run import run_trials

if TYPE_CHECKING:
    from tensorboardX import SummaryWriter

SHARED = "embeddings"
"""What trials compute once for all: embeddings of frozen encoders."""
POLL_SECONDS = 0.05
POINTS = 100
"""How often in a training losses are noted for who looks at the study meanwhile."""
NO_RECORD = "its workers left no record in {}; on several machines --results must lie on storage that all of them mount"


def drive(config: dict[str, Any]) -> None:
    """A Tune trial: run the Train workers to their end, then report what they wrote into the ledger.

    `config` is made by `spec.to_config`, of one trial or of several that train together in one population.
    """
    trials, key = from_config(config), str(config["key"])
    first = trials[0]
    results = Path(first.results)
    for trial in trials:
        failure_path(results, trial.key).unlink(missing_ok=True)
    ledger = Ledger(results / LEDGER)
    reason = NO_RECORD.format(results)
    details = ""
    if any(not ledger.has(trial.recipe_hash, trial.seed) for trial in trials):
        if len(trials) > 1:
            write_whole(results / TRAIN / f"{key}{MEMBERS}", json.dumps([trial.key for trial in trials]))
        trainer = TorchTrainer(
            work,
            train_loop_config=config,
            scaling_config=ray.train.ScalingConfig(
                num_workers=first.workers,
                use_gpu="GPU" in first.per_worker,
                resources_per_worker=dict(first.per_worker),
            ),
            # The name comes from the recipe and the seed alone: a later run of the same trial resumes by it.
            run_config=ray.train.RunConfig(
                name=key,
                storage_path=str(results / TRAIN),
                checkpoint_config=ray.train.CheckpointConfig(num_to_keep=1),
                failure_config=ray.train.FailureConfig(max_failures=3),
                callbacks=[TuneReportCallback()] if first.scheduled else [],
            ),
        )
        try:
            trainer.fit()
        except ray.train.TrainingFailedError as error:
            reason, details = str(error).strip().splitlines()[-1], traceback.format_exc()
    records = [ledger.get(trial.recipe_hash, trial.seed) for trial in trials]
    # Failures are told, not raised: Tune would print a traceback, and the other trials have nothing to do with it.
    for trial, record in zip(trials, records, strict=True):
        if record is None:
            keep_failure(trial, reason, details)
    if None not in records:
        shutil.rmtree(results / TRAIN / key, ignore_errors=True)  # the records make its checkpoints useless
        (results / TRAIN / f"{key}{MEMBERS}").unlink(missing_ok=True)
    score = selection(records[0].scores) if len(records) == 1 and records[0] else None
    tune.report({METRIC: score, RUNG: -1})


def work(config: dict[str, Any]) -> None:
    """A Train worker: its share of one trial, or a whole population."""
    trials = from_config(config)
    rank = ray.train.get_context().get_world_rank()
    if any(failure_path(Path(trial.results), trial.key).exists() for trial in trials):
        return  # a person's mistake, found before Train tried again: it would only be found again
    try:
        _run(trials, rank, str(config["key"]))
    except UserError as error:
        if rank == 0:
            for trial in _without_record(trials):
                keep_failure(trial, str(error))
        if trials[0].workers > 1:
            raise  # the other workers may be waiting for this one, and only Train can end them


def recipes_of(trials: Sequence[TrialSpec]) -> list[Recipe]:
    """The recipes, once everything that they may name is registered: plugins and a person's space file run first."""
    for trial in trials:
        for source in trial.sources:
            source.run()
    return [Recipe.from_flat(trial.recipe) for trial in trials]


def _without_record(trials: Sequence[TrialSpec]) -> list[TrialSpec]:
    """Of a population some may be done when another one fails."""
    ledger = Ledger(Path(trials[0].results) / LEDGER)
    return [trial for trial in trials if not ledger.has(trial.recipe_hash, trial.seed)]


def _run(trials: Sequence[TrialSpec], rank: int, files_key: str) -> None:
    first = trials[0]
    torch.set_num_threads(max(1, int(first.per_worker["CPU"])))
    results = Path(first.results)
    recipes = recipes_of(trials)
    folders = [results / MODELS / trial.key for trial in trials]
    ledger = Ledger(results / LEDGER)
    checkpoint = ray.train.get_checkpoint()
    workers = Workers.joined() if first.workers > 1 else Workers()
    with tempfile.TemporaryDirectory() as scratch:
        outcomes = run_trials(
            recipes,
            [trial.seed for trial in trials],
            model_folders=folders,
            workers=workers,
            reporter=_RayReporter(trials, files_key),
            resume=Path(checkpoint.to_directory(scratch)) if checkpoint else None,
            shared=results / SHARED,
            done=lambda number: ledger.has(trials[number].recipe_hash, trials[number].seed),
        )
        for trial, recipe, result, folder in zip(trials, recipes, outcomes, folders, strict=True):
            if rank == 0 and result is not None:
                keep(trial, recipe, result, folder)


class _RayReporter(Reporter):
    """Carries what a trial tells to TensorBoard, to the study's progress and to Ray Train, and the scheduler's answer
    back."""

    def __init__(self, trials: Sequence[TrialSpec], files_key: str) -> None:
        """`trials` train together; `files_key` names their files."""
        self.trials, self.files_key = trials, files_key
        self.trial = trials[0]
        self.wants_rungs = self.trial.scheduled
        self.board: SummaryWriter | None = None
        self.steps = 0

    def begin(self, steps: int) -> None:
        self.steps = steps

    def step(self, step: int, scalars: Mapping[str, float]) -> None:
        if step % max(1, self.steps // POINTS) == 0 or step == 1:
            names = ["loss"] if len(self.trials) == 1 else [f"loss/{number}" for number in range(len(self.trials))]
            losses = {t.key: scalars[name] for t, name in zip(self.trials, names, strict=True) if name in scalars}
            add_losses(Path(self.trial.results), self.files_key, step, self.steps, losses)
        if self.board is None:
            from tensorboardX import SummaryWriter

            folder = Path(self.trial.results) / "tensorboard" / f"{self.trial.name} {self.trial.key}"
            self.board = SummaryWriter(str(folder))
        for name, value in scalars.items():
            self.board.add_scalar(f"train/{name}", value, step)

    def rung(self, number: int, score: float | None, checkpoint: Path | None) -> bool:
        if self.trial.scheduled or checkpoint is not None or self.trial.workers > 1:
            saved = ray.train.Checkpoint.from_directory(checkpoint) if checkpoint else None
            ray.train.report({METRIC: score, RUNG: number}, checkpoint=saved)
        if self.board is not None:
            self.board.flush()
        return not self.trial.scheduled or self._may_go_on(number)

    def _may_go_on(self, number: int) -> bool:
        """Wait for the scheduler's answer to this rung. Workers end by themselves: a trial that Tune kills from
        outside can keep its workers' resources."""
        path = answer_path(Path(self.trial.results), self.trial.key, number)
        while not path.exists():
            time.sleep(POLL_SECONDS)
        return path.read_text() == "continue"


def keep(trial: TrialSpec, recipe: Recipe, result: TrialResult, model_folder: Path) -> None:
    """Write what a trial left: its arrays first, the ledger's record last, which promises that the rest is there."""
    results = Path(trial.results)
    predictions = None
    if result.predictions:
        predictions = results / PREDICTIONS / f"{trial.key}.npz"
        content = io.BytesIO()
        np.savez_compressed(content, **result.predictions)  # type: ignore[arg-type]
        write_whole(predictions, content.getvalue())
    Ledger(results / LEDGER).write(
        Record(
            recipe=recipe.flat(),
            recipe_hash=recipe.hash,
            seed=trial.seed,
            status="pruned" if result.stopped else "finished",
            scores=result.scores,
            protocol=recipe.evaluation.protocol,
            geometry=result.geometry,
            training={**result.training, "stopped": result.stopped},
            cost=result.cost,
            versions=versions(trial.sources),
            hardware=trial.hardware,
            data=result.data,
            checkpoint=str(model_folder.relative_to(results)) if model_folder.exists() else None,
            predictions=str(predictions.relative_to(results)) if predictions else None,
            finished_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )
    )
