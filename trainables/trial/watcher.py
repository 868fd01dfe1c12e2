"""The link from a training to its reporter: numbers of steps, checkpoints, and scores at rungs."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from trainables.encoders.contract import Encoder
from trainables.recipe import OptimisationConfig
from trainables.training.checkpoint import TrainingProgress
from trainables.training.distributed import Workers
from trainables.training.loop import Watcher
from trainables.training.rungs import RungPlan
from trainables.trial.evaluation import Evaluator, keeping_score
from trainables.trial.reporter import Reporter

CHECKPOINT_SECONDS, CHECKPOINT_STEPS = 60.0, 2
"""A checkpoint is taken after the first step with at least this much time and this many steps since the last one."""


class CheckpointClock:
    """Decides when a checkpoint is taken, and gives it to the reporter. For the first worker only."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter
        self._last_step: int | None = None
        self._last = time.perf_counter()

    def due(self, step: int, ahead: int) -> bool:
        """Return whether to take a checkpoint `ahead` steps after step `step`."""
        if self._last_step is None:
            self._last_step = step - 1  # the first step of this process, which may have resumed
        since = step - self._last_step
        later = (time.perf_counter() - self._last) / since * (since + ahead)
        in_time = later >= CHECKPOINT_SECONDS and since + ahead >= CHECKPOINT_STEPS
        return in_time or self.reporter.wants_checkpoint()

    def take(self, step: int, save: Callable[[Path], None]) -> bool:
        """Write a checkpoint and pass it to the reporter. Return False if the training continues in another process."""
        with tempfile.TemporaryDirectory() as scratch:
            save(Path(scratch))
            going_on = self.reporter.checkpoint(Path(scratch))
        self._last_step, self._last = step, time.perf_counter()
        return going_on


class TrialWatcher(Watcher):
    """The `Watcher` of a single trial's training loop."""

    def __init__(
        self,
        encoder: Encoder,
        evaluator: Evaluator,
        workers: Workers,
        reporter: Reporter,
        optimisation: OptimisationConfig | None = None,
    ) -> None:
        """`optimisation`: the settings of the score by which weights are kept; None if there is no such score."""
        self.encoder, self.evaluator, self.workers, self.reporter = encoder, evaluator, workers, reporter
        self.optimisation = optimisation
        self.rung_plan: RungPlan | None = workers.from_first(reporter.rung_plan)
        self.checkpoints = CheckpointClock(reporter)
        self.began = time.perf_counter()
        self.stopped: str | None = None

    def resumed_seconds(self, training_seconds: float) -> float:
        """Return how many of the training seconds were spent in earlier processes."""
        return max(0.0, training_seconds - (time.perf_counter() - self.began))

    def step(self, step: int, scalars: dict[str, float]) -> None:
        self.reporter.step(step, scalars)

    def wants_checkpoint(self, step: int) -> bool:
        return self.checkpoints.due(step, ahead=1)

    def checkpoint(self, step: int, save: Callable[[Path], None]) -> bool:
        going_on = self.checkpoints.take(step, save) if self.workers.rank == 0 else None
        return bool(self.workers.from_first(going_on))

    def rung(self, number: int, progress: TrainingProgress) -> bool:
        assert self.rung_plan is not None
        measures = self.rung_plan.measures
        measured = self.evaluator.measure(self.encoder, measures)
        measured |= {measure.name: -progress.seconds for measure in measures if measure.number == "seconds"}
        going_on = True
        if self.workers.rank == 0 and len(measured) == len(measures):
            scores = {measure.name: measured[measure.name] for measure in measures}
            tokens = int(progress.sums.get("tokens", 0))
            report = {"rung": number, "step": progress.step, "seconds": progress.seconds, "tokens": tokens}
            progress.rungs.append({**report, "scores": scores})
            going_on = self.reporter.rung(number, scores)
        if not self.workers.from_first(going_on):
            self.stopped = f"stopped at rung {number}"
        return self.stopped is None

    def score(self) -> float | None:
        assert self.optimisation is not None, "a recipe that keeps weights by a score says by which"
        value: float | None = self.workers.from_first(keeping_score(self.encoder, self.optimisation, self.workers))
        return value
