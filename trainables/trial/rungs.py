"""What happens at the rungs of a training, where it pauses: a score, a checkpoint, and a word to the reporter."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from trainables.encoders.contract import Encoder
from trainables.training.distributed import Workers
from trainables.trial.evaluation import Evaluator
from trainables.trial.reporter import Reporter

CHECKPOINT_SECONDS = 30.0
"""A checkpoint is written at a rung once so much time has passed since the last."""


class Rungs:
    """The `Watcher` of a single trial's training loop."""

    def __init__(self, encoder: Encoder, evaluator: Evaluator, workers: Workers, reporter: Reporter) -> None:
        self.encoder, self.evaluator, self.workers, self.reporter = encoder, evaluator, workers, reporter
        self.began = self.saved = time.perf_counter()
        self.stopped: str | None = None

    def resumed_seconds(self, training_seconds: float) -> float:
        """How many of these seconds an earlier process spent."""
        return max(0.0, training_seconds - (time.perf_counter() - self.began))

    def step(self, step: int, scalars: dict[str, float]) -> None:
        self.reporter.step(step, scalars)

    def rung(self, number: int, save: Callable[[Path], None]) -> bool:
        score = self.evaluator.development(self.encoder) if self.reporter.wants_rungs else None
        due = self.workers.from_first(time.perf_counter() - self.saved > CHECKPOINT_SECONDS)
        with tempfile.TemporaryDirectory() as scratch:
            if due:
                self.saved = time.perf_counter()
                if self.workers.rank == 0:
                    save(Path(scratch))
            going_on = self.reporter.rung(number, score, Path(scratch) if due and self.workers.rank == 0 else None)
        if not going_on:
            self.stopped = f"stopped at rung {number}"
        return going_on
