"""Trials for chaos tests: arithmetic instead of training, a checkpoint every few steps, and a log of every step.

    python -m benchmarks.chaos._work OPTIONS

is `study/run.py` with such trials.

Each step needs the whole state of the step before, so an incomplete, foreign or damaged checkpoint changes the score.
Any process that does a step appends a line to the log, so a repeated step is in the log twice.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from study.engine.messages import WorkerTask
    from study.engine.worker_group import Worker
    from study.trial import Trial

STEPS, EVERY, PAUSE = 60, 10, 0.06
"""Number of steps of a trial, steps between two checkpoints, and seconds of a step."""
SIZE = 2**16
"""Bytes of the state."""
LOG = "CHAOS_LOG"
"""Name of the environment variable with the path of the log. It is set on every node."""
STATE, NUMBERS = "state.bin", "state.json"


class ArithmeticTraining:
    """A trial of `STEPS` steps, from its beginning or from a checkpoint's folder."""

    def __init__(self, key: str, resume: Path | None) -> None:
        self.key, self.step = key, 0
        self.state = hashlib.shake_256(key.encode()).digest(SIZE)
        if resume is not None:
            self.step = json.loads((resume / NUMBERS).read_text())["step"]
            self.state = (resume / STATE).read_bytes()

    def go(self) -> None:
        """Do a step."""
        time.sleep(PAUSE)
        self.state = hashlib.shake_256(self.state).digest(SIZE)
        self.step += 1
        line = json.dumps({"key": self.key, "step": self.step, "at": time.time(), "process": os.getpid()}) + "\n"
        log = os.open(os.environ[LOG], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(log, line.encode())
        finally:
            os.close(log)

    @property
    def pauses(self) -> bool:
        """Whether a checkpoint is due after this step."""
        return self.step % EVERY == 0 and self.step < STEPS

    def save(self, folder: Path) -> None:
        (folder / STATE).write_bytes(self.state)
        (folder / NUMBERS).write_text(json.dumps({"step": self.step}))

    @property
    def score(self) -> float:
        """A score between 40 and 80 that depends on every byte of the state."""
        return 40 + 40 * int.from_bytes(hashlib.sha256(self.state).digest()[:4]) / 2**32


def perform(task: WorkerTask, me: Worker) -> None:
    """Run a task in place of `study.engine.worker.perform`, with arithmetic as training and without slow imports."""
    import ray

    reason = None
    try:
        if me.rank == 0:
            for trial in task.trials:
                if trial.key not in task.done:
                    _train(trial, task, me)
    except _HaltedError:
        pass
    except Exception as error:
        if me.count > 1:
            ray.get(me.coordinator.note_error.remote(me.group, task.number, repr(error)))
            raise
        reason = repr(error)
    if me.rank == 0:
        me.finish(task, reason)


class _HaltedError(Exception):
    """The study was told to stop; the checkpoint is written."""


def _train(trial: Trial, task: WorkerTask, me: Worker) -> None:
    from reports.ledger import Evaluation, Record
    from study.engine.checkpoints import TaskCheckpoints
    from study.engine.messages import Checkpointed, Scored, Step
    from study.engine.transport import transport_for
    from trainables.senteval import task_names

    key, recipe = trial.key, trial.recipe
    checkpoints = TaskCheckpoints(transport_for(task.url, me.coordinator), task.key)
    with tempfile.TemporaryDirectory() as scratch:
        training = ArithmeticTraining(key, checkpoints.fetch(Path(scratch)))
    while training.step < STEPS:
        training.go()
        scalars = {"loss": 1 / training.step}
        me.coordinator.tell.remote(me.group, Step((key,), training.step, STEPS, scalars))
        if training.pauses or me.orders.save.is_set():
            me.orders.save.clear()
            with tempfile.TemporaryDirectory() as folder:
                training.save(Path(folder))
                checkpoints.send(Path(folder))
            me.tell(Checkpointed(task.key))
            if me.orders.halt.is_set():
                raise _HaltedError
    numbers = {"dev_spearman_cosine": training.score, "spearman_cosine": training.score - 1}
    scores: dict[str, Any] = {task: {} for task in task_names(trial.evaluation.tasks)}
    record = Record(
        recipe.flat(),
        trial.recipe_hash,
        trial.seed,
        evaluations=[Evaluation(trial.evaluation.protocol, scores | {"STSBenchmark": numbers})],
        training={"steps": STEPS, "stopped": None},
        cost={"seconds": STEPS * PAUSE, "crew": me.timesheet.read_and_reset()},
        hardware=trial.resources.hardware,
        finished_at=time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
    )
    me.tell(Scored(key, record, None, None))


if __name__ == "__main__":
    from study import run
    from study.engine import launch

    launch.run_study = functools.partial(launch.run_study, perform="benchmarks.chaos._work:perform")
    sys.exit(run.command())
