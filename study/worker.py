"""One Ray Train worker of a trial, and the Tune driver above it.

`drive` is what Ray Tune runs for a trial; it starts a `TorchTrainer` whose workers run `work`. The first worker
writes the trial's record into the ledger itself, so that no later death can lose it.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import os
import platform
import shutil
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import trainables
from reports.ledger import FAILURES, LEDGER, Ledger, Record, trial_key, write_whole
from search_spaces.goals import selection
from trainables.errors import UserError
from trainables.recipe import Recipe
from trainables.trial import Reporter, TrialResult
from trainables.trial.run import run_trials

PACKAGES = ("ray", "torch", "transformers", "sentence-transformers", "datasets", "optuna", "numpy", "scipy")
TRAIN, MEMBERS = "train", ".members.json"
"""Where Ray Train keeps checkpoints, and beside them who trains together in a population."""
SHARED = "embeddings"
"""What trials compute once for all: embeddings of frozen encoders."""
METRIC = "selection"
RUNG = "rung"
POLL_SECONDS = 0.05
NO_RECORD = "its workers left no record in {}; on several machines --results must lie on storage that all of them mount"


@dataclass(frozen=True)
class Task:
    """What a driver is told, as plain values that survive Tune's config."""

    recipe: dict[str, Any]
    recipe_hash: str
    seed: int
    name: str
    results: str
    per_worker: dict[str, float]
    workers: int
    scheduled: bool
    """Whether a scheduler may stop this trial at a rung."""
    hardware: str

    @property
    def key(self) -> str:
        """Names the trial's files."""
        return trial_key(self.recipe_hash, self.seed)


def drive(config: dict[str, Any]) -> None:
    """A Tune trial: run the Train workers to their end, then report what they wrote into the ledger.

    `config["tasks"]` holds one task, or several that train together in one population.
    """
    import ray.train
    from ray import tune
    from ray.train.torch import TorchTrainer
    from ray.tune.integration.ray_train import TuneReportCallback

    tasks, key = [Task(**task) for task in config["tasks"]], str(config["key"])
    first = tasks[0]
    results = Path(first.results)
    for task in tasks:
        failure_path(results, task.key).unlink(missing_ok=True)
    ledger = Ledger(results / LEDGER)
    reason = NO_RECORD.format(results)
    details = ""
    if any(not ledger.has(task.recipe_hash, task.seed) for task in tasks):
        if len(tasks) > 1:
            write_whole(results / TRAIN / f"{key}{MEMBERS}", json.dumps([task.key for task in tasks]))
        trainer = TorchTrainer(
            work,
            train_loop_config={"tasks": config["tasks"], "key": key},
            scaling_config=ray.train.ScalingConfig(
                num_workers=first.workers,
                use_gpu="GPU" in first.per_worker,
                resources_per_worker=first.per_worker,
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
    records = [ledger.get(task.recipe_hash, task.seed) for task in tasks]
    # Failures are told, not raised: Tune would print a traceback, and the other trials have nothing to do with it.
    for task, record in zip(tasks, records, strict=True):
        if record is None:
            _keep_failure(task, reason, details)
    if None not in records:
        shutil.rmtree(results / TRAIN / key, ignore_errors=True)  # the records make its checkpoints useless
        (results / TRAIN / f"{key}{MEMBERS}").unlink(missing_ok=True)
    score = selection(records[0].scores) if len(records) == 1 and records[0] else None
    tune.report({METRIC: score, RUNG: -1})


def failure_path(results: Path, key: str) -> Path:
    """Where the reason is kept for which a trial cannot run."""
    return results / FAILURES / f"{key}.json"


def _keep_failure(task: Task, reason: str, details: str = "") -> None:
    """Write why a trial failed, unless a worker already did."""
    path = failure_path(Path(task.results), task.key)
    if not path.exists():
        content = {"trial": task.key, "name": task.name, "reason": reason, "details": details}
        write_whole(path, json.dumps(content, indent=1))


def why_failed(results: Path, key: str) -> str:
    """The reason that was kept for a trial without a record."""
    path = failure_path(results, key)
    return str(json.loads(path.read_text())["reason"]) if path.exists() else "it left neither a record nor a reason"


def work(config: dict[str, Any]) -> None:
    """A Train worker: its share of one trial, or a whole population."""
    import ray.train

    tasks = [Task(**task) for task in config["tasks"]]
    rank = ray.train.get_context().get_world_rank()
    if any(failure_path(Path(task.results), task.key).exists() for task in tasks):
        return  # a person's mistake, found before Train tried again: it would only be found again
    try:
        _run(tasks, rank)
    except UserError as error:
        if rank == 0:
            for task in _without_record(tasks):
                _keep_failure(task, str(error))
        if tasks[0].workers > 1:
            raise  # the other workers may be waiting for this one, and only Train can end them


def _without_record(tasks: Sequence[Task]) -> list[Task]:
    """Of a population some may be done when another one fails."""
    ledger = Ledger(Path(tasks[0].results) / LEDGER)
    return [task for task in tasks if not ledger.has(task.recipe_hash, task.seed)]


def _run(tasks: Sequence[Task], rank: int) -> None:
    import ray.train
    import torch

    from trainables.training.distributed import Workers

    first = tasks[0]
    torch.set_num_threads(max(1, int(first.per_worker["CPU"])))
    results = Path(first.results)
    recipes = [Recipe.from_flat(task.recipe) for task in tasks]
    folders = [results / "models" / task.key for task in tasks]
    ledger = Ledger(results / LEDGER)
    checkpoint = ray.train.get_checkpoint()
    workers = Workers.joined() if first.workers > 1 else Workers()
    with tempfile.TemporaryDirectory() as scratch:
        outcomes = run_trials(
            recipes,
            [task.seed for task in tasks],
            model_folders=folders,
            workers=workers,
            reporter=_RayReporter(first),
            resume=Path(checkpoint.to_directory(scratch)) if checkpoint else None,
            shared=results / SHARED,
            done=lambda number: ledger.has(tasks[number].recipe_hash, tasks[number].seed),
        )
        for task, recipe, result, folder in zip(tasks, recipes, outcomes, folders, strict=True):
            if rank == 0 and result is not None:
                _keep(task, recipe, result, folder)


class _RayReporter(Reporter):
    """Carries what a trial tells to TensorBoard, to Ray Train, and the scheduler's answer back."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.wants_rungs = task.scheduled
        self.board: Any = None

    def step(self, step: int, scalars: Mapping[str, float]) -> None:
        if self.board is None:
            from tensorboardX import SummaryWriter

            self.board = SummaryWriter(
                str(Path(self.task.results) / "tensorboard" / f"{self.task.name} {self.task.key}")
            )
        for name, value in scalars.items():
            self.board.add_scalar(f"train/{name}", value, step)

    def rung(self, number: int, score: float | None, checkpoint: Path | None) -> bool:
        import ray.train

        if self.task.scheduled or checkpoint is not None or self.task.workers > 1:
            saved = ray.train.Checkpoint.from_directory(checkpoint) if checkpoint else None
            ray.train.report({METRIC: score, RUNG: number}, checkpoint=saved)
        if self.board is not None:
            self.board.flush()
        return not self.task.scheduled or self._may_go_on(number)

    def _may_go_on(self, number: int) -> bool:
        """Wait for the scheduler's answer to this rung. Workers end by themselves: a trial that Tune kills from
        outside can keep its workers' resources."""
        from study.scheduler import answer_path

        path = answer_path(Path(self.task.results), self.task.key, number)
        while not path.exists():
            time.sleep(POLL_SECONDS)
        return path.read_text() == "continue"


def _keep(task: Task, recipe: Recipe, result: TrialResult, model_folder: Path) -> None:
    """Predictions first, the ledger's record last: a record promises that the rest is there."""
    results = Path(task.results)
    predictions = None
    if result.predictions:
        import numpy as np

        predictions = results / "predictions" / f"{task.key}.npz"
        predictions.parent.mkdir(parents=True, exist_ok=True)
        part = predictions.with_name(f"{predictions.name}.part.npz")
        np.savez_compressed(part, **result.predictions)  # type: ignore[arg-type]
        os.replace(part, predictions)
    Ledger(results / LEDGER).write(
        Record(
            recipe=recipe.flat(),
            recipe_hash=recipe.hash,
            seed=task.seed,
            status="pruned" if result.stopped else "finished",
            scores=result.scores,
            protocol=recipe.evaluation.protocol,
            training={**result.training, "stopped": result.stopped},
            cost=result.cost,
            versions=versions(),
            hardware=task.hardware,
            data=result.data,
            checkpoint=str(model_folder.relative_to(results)) if model_folder.exists() else None,
            predictions=str(predictions.relative_to(results)) if predictions else None,
            finished_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )
    )


@functools.cache
def versions() -> dict[str, str]:
    """Python and the packages that decide the numbers; of our own `trainables`, which has no version, a digest."""
    digest = hashlib.blake2b(digest_size=4)
    for file in sorted(Path(trainables.__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    found = {"python": platform.python_version(), "trainables": digest.hexdigest()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
