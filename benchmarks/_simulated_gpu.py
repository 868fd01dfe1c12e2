"""A trial on a GPU that is simulated: training is a sleep, embeddings are noise. All that follows is a trial's own:
its classifier heads are fitted in earnest, in the worker group or as a CPU task, as `study.engine.worker` is told."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.idle_share import STEP_SECONDS
from study.engine import worker
from study.engine.messages import WorkerTask
from study.engine.worker_group import Worker
from trainables.training.distributed import Workers
from trainables.trial import Reporter, TrialResult, TrialSpec, Unscored
from trainables.trial.evaluation import Evaluator
from trainables.trial.measure import Clock
from trainables.trial.save_and_score import embed_and_score


def perform(task: WorkerTask, me: Worker) -> None:
    """What a worker does with a task; only the trial itself is another one."""
    with patch.object(worker, "run_trials", simulated):
        worker.perform(task, me)


def simulated(
    specs: Sequence[TrialSpec],
    *,
    reporter: Reporter,
    hand_over: bool,
    **unused: Any,
) -> Iterator[TrialResult | Unscored]:
    """Stands for `trainables.trial.run.run_trials` of one trial."""
    clock, (spec,) = Clock(), specs
    steps = spec.recipe.optimisation.max_steps
    assert steps
    reporter.begin(steps)
    for step in range(1, steps + 1):
        time.sleep(STEP_SECONDS)
        reporter.step(step, {"loss": 1.0 / step})
    clock.training_ended()
    evaluator = Evaluator(spec.evaluation, Workers())
    yield embed_and_score(spec, Noise(), evaluator, clock, training={}, data={}, model=None, hand_over=hand_over)


class Noise:
    """An encoder without a network."""

    dim = 128

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:
        """(sentences, dim) float32."""
        return np.random.default_rng(0).standard_normal((len(sentences), self.dim), dtype=np.float32)
