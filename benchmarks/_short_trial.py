"""A trial of a few milliseconds in a worker as it is: only training and evaluation are made up. It tells its steps,
keeps predictions, and leaves a record with scores and costs, as a real one does."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

from study.engine import worker
from study.engine.messages import WorkerTask
from study.engine.worker_group import Worker
from trainables.senteval import task_names
from trainables.training.distributed import Workers
from trainables.trial import Reporter, TrialResult, TrialSpec
from trainables.trial.measure import Clock

STEPS, ITEMS = 4, 1500
"""Of a training, and of the evaluation task."""
TASK = "STSBenchmark"


def perform(task: WorkerTask, me: Worker) -> None:
    """What a worker does with a task; only the trial itself is another one."""
    with patch.object(worker, "run_trials", short):
        worker.perform(task, me)


def short(
    specs: Sequence[TrialSpec],
    *,
    reporter: Reporter,
    **unused: Any,
) -> Iterator[TrialResult]:
    """Stands for `trainables.trial.run.run_trials`."""
    for spec in specs:
        clock, draw = Clock(), random.Random(f"{spec.recipe.hash}-{spec.seed}")
        reporter.begin(STEPS)
        for step in range(1, STEPS + 1):
            reporter.step(step, {"loss": draw.random()})
        clock.training_ended()
        score = 50 + 20 * draw.random()
        scores: Any = {task: {} for task in task_names(spec.evaluation.tasks)}
        scores[TASK] = {"dev_spearman_cosine": score, "test_spearman_cosine": score - 1}
        yield TrialResult(
            scores=scores,
            predictions={f"{TASK}.test": np.random.default_rng(spec.seed).random(ITEMS, dtype=np.float32)},
            training={"steps": STEPS, "loss": draw.random()},
            cost=clock.cost(Workers()),
        )
