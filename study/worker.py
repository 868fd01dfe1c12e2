"""One Ray Train worker of a trial, and the Tune driver above it.

`drive` is what Ray Tune runs for a trial; it starts a `TorchTrainer` whose workers run `work`. The first worker
writes the trial's record into the ledger itself, so that no later death can lose it.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import shutil
import tempfile
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from reports.ledger import Ledger, Record, write_whole
from reports.study_file import LEDGER
from trainables.errors import UserError
from trainables.recipe import Recipe
from trainables.trial import Reporter, TrialResult, run_trial

PACKAGES = ("ray", "torch", "transformers", "sentence-transformers", "datasets", "optuna", "numpy", "scipy")
FAILURES = "failures"
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
        return f"{self.recipe_hash}-{self.seed}"


def drive(config: dict[str, Any]) -> None:
    """A Tune trial: run the Train workers to their end, then report the record that they wrote."""
    import ray.train
    from ray import tune
    from ray.train.torch import TorchTrainer
    from ray.tune.integration.ray_train import TuneReportCallback

    task = Task(**config["task"])
    results = Path(task.results)
    failure = failure_path(results, task.key)
    failure.unlink(missing_ok=True)
    ledger = Ledger(results / LEDGER)
    reason = None
    if not ledger.has(task.recipe_hash, task.seed):
        trainer = TorchTrainer(
            work,
            train_loop_config={"task": config["task"]},
            scaling_config=ray.train.ScalingConfig(
                num_workers=task.workers,
                use_gpu="GPU" in task.per_worker,
                resources_per_worker=task.per_worker,
            ),
            # The name comes from the recipe and the seed alone: a later run of the same trial resumes by it.
            run_config=ray.train.RunConfig(
                name=task.key,
                storage_path=str(results / "train"),
                checkpoint_config=ray.train.CheckpointConfig(num_to_keep=1),
                failure_config=ray.train.FailureConfig(max_failures=3),
                callbacks=[TuneReportCallback()] if task.scheduled else [],
            ),
        )
        try:
            trainer.fit()
        except ray.train.TrainingFailedError as error:
            reason = _keep_failure(task, str(error).strip().splitlines()[-1], traceback.format_exc())
    record = ledger.get(task.recipe_hash, task.seed)
    if record is None:
        # Told, not raised: Tune would print a traceback, and the other trials have nothing to do with it.
        reason = reason or _keep_failure(task, NO_RECORD.format(results))
        tune.report({METRIC: None, "status": "failed", "reason": reason, RUNG: -1})
        return
    shutil.rmtree(results / "train" / task.key, ignore_errors=True)  # the record makes its checkpoints useless
    tune.report({METRIC: record.selection, "status": record.status, RUNG: -1})


def failure_path(results: Path, key: str) -> Path:
    """Where the reason is kept for which a trial cannot run."""
    return results / FAILURES / f"{key}.json"


def _keep_failure(task: Task, reason: str, details: str = "") -> str:
    """Write why a trial failed, unless a worker already did, and return it."""
    path = failure_path(Path(task.results), task.key)
    if not path.exists():
        content = {"trial": task.key, "name": task.name, "reason": reason, "details": details}
        write_whole(path, json.dumps(content, indent=1))
    return str(json.loads(path.read_text())["reason"])


def work(config: dict[str, Any]) -> None:
    """A Train worker: its share of one trial."""
    import ray.train

    task = Task(**config["task"])
    rank = ray.train.get_context().get_world_rank()
    failure = failure_path(Path(task.results), task.key)
    if failure.exists():
        return  # a person's mistake, found before Train tried again: it would only be found again
    try:
        _run(task, rank)
    except UserError as error:
        if rank == 0:
            _keep_failure(task, str(error))
        if task.workers > 1:
            raise  # the other workers may be waiting for this one, and only Train can end them


def _run(task: Task, rank: int) -> None:
    import ray.train
    import torch

    from trainables.training.team import Team

    torch.set_num_threads(max(1, int(task.per_worker["CPU"])))
    results = Path(task.results)
    recipe = Recipe.from_flat(task.recipe)
    checkpoint = ray.train.get_checkpoint()
    team = Team.joined() if task.workers > 1 else Team()
    model_folder = results / "models" / task.key
    with tempfile.TemporaryDirectory() as scratch:
        result = run_trial(
            recipe,
            task.seed,
            model_folder=model_folder,
            team=team,
            reporter=_RayReporter(task),
            resume=Path(checkpoint.to_directory(scratch)) if checkpoint else None,
        )
    if rank == 0:
        _keep(task, recipe, result, model_folder)


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
            averages=result.averages,
            protocol=recipe.evaluation.protocol,
            selection=result.selection,
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


def versions() -> dict[str, str]:
    """Python and the packages that decide the numbers."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
