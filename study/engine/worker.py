"""What a worker does with one task: a trial, or several that train together in a population."""

from __future__ import annotations

import dataclasses
import errno
import functools
import os
import shutil
import socket
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import ray
import torch
from safetensors import SafetensorError

from reports.ledger import MODELS, is_fresh
from reports.ledger.finals import SoupVariant
from reports.ledger.record import LEFT_OUT
from study.engine.checkpoints import TaskCheckpoints
from study.engine.messages import Checkpointed, DiskFull, Rung, Step, WorkerTask
from study.engine.records import HandedTrial, TrialRun
from study.engine.transport import Transport, transport_for
from study.engine.worker_group import Worker
from study.results_folder.redact import redacted
from study.trial import Trial
from trainables.corpora.cache import default_cache
from trainables.errors import UnsuitedError, UserError, words_of
from trainables.machine import machine
from trainables.training.distributed import Workers
from trainables.training.loop import Interrupted
from trainables.trial import Reporter
from trainables.trial.process_reset import Growth, ProcessReset
from trainables.trial.result import TrialResult, Unscored
from trainables.trial.run import run_trials
from trainables.trial.spec import Soup, TrialSpec

EMBEDDINGS = "embeddings"
"""What trials over frozen encoders compute once for all, in the cache folder of each machine."""
POINTS, SECONDS = 100, 5.0
"""How often in a training its losses are told: after each hundredth part of the steps, and so many seconds."""
FULL = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a full disk, and of one on which a person may have no more."""
NO_TEMPORARY = "No usable temporary directory found"
"""In what Python raises where it can write into no folder for temporary files, among them a full one."""
DRIVER = Path("/proc/driver/nvidia/version")
RENEWED_AFTER, LARGEST_GROWTH, MOST_THREADS = 500, 2 * 2**30, 50
"""A worker group is renewed after so many trials, so many bytes more than after its first, or so many more threads."""


def perform(task: WorkerTask, me: Worker) -> None:
    """Run the task and tell what becomes of its trials, and whether this process should be renewed after it.

    An error fails its trial alone; a full disk ends the study. Of several workers the one that failed raises it too,
    since others may wait for it, and Train starts them all again.
    """
    reason, details = None, ""
    torch.set_num_threads(max(1, task.resources.cpus))
    between = _between()
    try:
        with between.trial():
            _run(task, me)
    except Interrupted:
        pass  # its checkpoint is kept; the same command goes on from it
    except BaseException as error:  # a plugin's objective may raise anything, and call `sys.exit()`
        if _is_full_disk(error):  # the next trials would fail by it, too, each after its whole training
            me.tell(DiskFull(_full_disk()))
            return
        reason = redacted(_reason(error))
        details = "" if isinstance(error, UserError) else redacted(traceback.format_exc())
        if me.count > 1:
            if isinstance(error, UserError | torch.OutOfMemoryError):  # it would only happen again
                me.finish(task, reason, details)
            else:
                ray.get(me.coordinator.stumbled.remote(me.group, task.number, reason))
            raise RuntimeError(reason) from None  # which Train can pass on, whatever a plugin's own error is like
    if me.rank == 0:
        renew = _spent(between.grown(), task.number) or (reason is not None and not _device_works())
        me.finish(task, reason, details, renew)


def _run(task: WorkerTask, me: Worker) -> None:
    take_share(task.resources.gpus)
    task.run_sources()
    transport = transport_for(task.url, me.coordinator)
    checkpoints = TaskCheckpoints(transport, task.key)
    with tempfile.TemporaryDirectory() as scratch:
        with me.timesheet.during("waiting"):
            specs = [_spec(trial, task, Path(scratch), transport) for trial in task.trials]
        outcomes = _outcomes(task, specs, me, checkpoints, checkpoints.fetch(Path(scratch)))
        began, waited = time.perf_counter(), me.timesheet.spent.get("waiting", 0.0)
        for trial, spec, outcome in zip(task.trials, specs, outcomes, strict=True):
            if me.rank > 0 or outcome is None:
                continue
            evaluating = 0.0 if isinstance(outcome, Unscored) else outcome.cost.get("evaluating_seconds", 0.0)
            me.timesheet.add("evaluating", evaluating)
            waited = me.timesheet.spent.get("waiting", 0.0) - waited  # at rungs, and for checkpoints
            me.timesheet.add("busy", time.perf_counter() - began - evaluating - waited)
            saved = spec.model_folder is not None and spec.model_folder.exists()
            with me.timesheet.during("waiting"):
                if spec.model_folder is not None and saved:
                    transport.send(spec.model_folder, f"{MODELS}/{trial.key}")
            run = TrialRun(trial, task.sources, me.timesheet.take(), machine(), saved)
            with me.timesheet.during("waiting"):
                if isinstance(outcome, Unscored):
                    ray.get(me.coordinator.hand_over.remote(trial.key, HandedTrial(run, outcome)))
                else:
                    me.tell(run.scored(outcome))
            began, waited = time.perf_counter(), me.timesheet.spent.get("waiting", 0.0)


def _outcomes(
    task: WorkerTask, specs: Sequence[TrialSpec], me: Worker, checkpoints: TaskCheckpoints, resume: Path | None
) -> Iterator[TrialResult | Unscored | None]:
    """What becomes of its trials. An explored recipe that the data or the encoder do not go with has not failed: the
    search learns of it."""
    try:
        yield from run_trials(
            specs,
            workers=_workers(me, task.resources.gpus),
            reporter=StudyReporter(task.trials, task.key, me, checkpoints),
            resume=resume,
            shared=default_cache() / EMBEDDINGS,
            hand_over=task.hand_over,
        )
    except UnsuitedError as error:
        if len(specs) > 1 or task.trials[0].row or is_fresh(task.trials[0].seed):
            raise
        yield TrialResult(f"{LEFT_OUT}{error}")


def _spec(trial: Trial, task: WorkerTask, scratch: Path, transport: Transport) -> TrialSpec:
    folder = scratch / MODELS / trial.key if trial.saves_model else None
    soup = _soup(trial, scratch, transport) if trial.averaged else None
    return TrialSpec(trial.recipe, trial.seed, trial.evaluation, folder, done=trial.key in task.done, soup=soup)


def _soup(trial: Trial, scratch: Path, transport: Transport) -> Soup:
    """With its models fetched. `UserError` where one is not in the results any more."""
    models = tuple(scratch / "averaged" / key for key in trial.averaged)
    for key, folder in zip(trial.averaged, models, strict=True):
        if not transport.fetch(f"{MODELS}/{key}", folder):
            raise UserError(f"the results hold no model {MODELS}/{key}, which is to be averaged with others")
    return Soup(models, SoupVariant.of(trial.seed).share)


class StudyReporter(Reporter):
    """Carries what a trial tells to the coordinator, and the scheduler's verdicts and the study's orders back."""

    def __init__(self, trials: Sequence[Trial], files: str, me: Worker, checkpoints: TaskCheckpoints) -> None:
        """`trials` train together; `files` names their checkpoints."""
        self.keys, self.files, self.me, self.checkpoints = tuple(trial.key for trial in trials), files, me, checkpoints
        self.rung_plan = trials[0].rungs
        self.steps, self.told_step, self.told_at = 1, 0, float("-inf")

    def begin(self, steps: int) -> None:
        self.steps = steps

    def step(self, step: int, scalars: Mapping[str, float]) -> None:
        late = time.monotonic() - self.told_at > SECONDS
        if not (late or step == self.steps or step - self.told_step >= self.steps / POINTS):
            return
        self.told_step, self.told_at = step, time.monotonic()
        # Nobody waits for it: what is shown must not slow a training down.
        self.me.coordinator.tell.remote(self.me.group, Step(self.keys, step, self.steps, dict(scalars)))

    def rung(self, number: int, scores: Mapping[str, float]) -> bool:
        (key,) = self.keys
        self.me.tell(Rung(key, number, dict(scores)))
        with self.me.timesheet.during("waiting"):
            return bool(ray.get(self.me.coordinator.wait_for_verdict.remote(key, number)))

    def wants_checkpoint(self) -> bool:
        return self.me.orders.save.is_set()

    def checkpoint(self, folder: Path) -> bool:
        self.me.orders.save.clear()
        with self.me.timesheet.during("waiting"):
            self.checkpoints.send(folder)
        self.me.tell(Checkpointed(self.files))
        return not self.me.orders.halt.is_set()


def take_share(gpus: float) -> None:
    """Bound this process's memory by its share of a GPU. `UserError` where PyTorch cannot use the GPU that the trial
    holds: it would train on the CPU."""
    if not gpus:
        return
    # Batches differ in length; memory in fixed pieces is left unused between them. Read when CUDA starts.
    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    if not torch.cuda.is_available():
        raise UserError(
            f"the trial holds a GPU that PyTorch cannot use: torch {torch.__version__} is built for "
            f"{'CUDA ' + torch.version.cuda if torch.version.cuda else 'no GPU'}, and the machine has {_driver()}; "
            "install a driver and a PyTorch that fit, or train on CPUs with --gpus-per-worker 0"
        )
    if gpus < 1:
        torch.cuda.set_per_process_memory_fraction(gpus)


def _driver() -> str:
    try:
        return f"the driver {DRIVER.read_text().splitlines()[0].split(':', 1)[-1].strip()!r}"
    except (OSError, IndexError):
        return "no driver of NVIDIA"


@functools.cache
def _between() -> ProcessReset:
    """The one of this process, made before its first trial."""
    return ProcessReset()


def _spent(growth: Growth, number: int) -> bool:
    """Whether a process has grown so much, or done so many trials, that a new one is better."""
    return (
        number >= RENEWED_AFTER
        or growth.memory > LARGEST_GROWTH
        or growth.cuda > LARGEST_GROWTH
        or growth.threads > MOST_THREADS
    )


def _workers(me: Worker, gpus: float) -> Workers:
    """`gpus`: of each, perhaps a share of one."""
    return dataclasses.replace(_joined() if me.count > 1 else Workers(), gpus=gpus)


@functools.cache
def _joined() -> Workers:
    """Of this process: its place among the workers stays."""
    return Workers.joined()


def _reason(error: BaseException) -> str:
    """All of it: only what is whole can be freed of secrets. The result writer makes a short line of it."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, torch.OutOfMemoryError):
        return (
            "the GPU's memory is full; lower optimisation.batch_size or encoder.max_length, or give the trial more "
            "workers"
        )
    return f"{type(error).__name__}: {words_of(error)}"


def _is_full_disk(error: BaseException | None) -> bool:
    """Whether it tells, or comes of one that tells, of a full disk of this machine. What comes by Ray is of the disk
    of the results, of which the study's own process tells."""
    if error is None or isinstance(error, ray.exceptions.RayTaskError):
        return False
    before = error.__cause__ or error.__context__
    if isinstance(error, OSError) and error.errno in FULL:
        return not isinstance(before, ray.exceptions.RayTaskError)
    if isinstance(error, FileNotFoundError) and NO_TEMPORARY in str(error):
        return os.access(_temporary(), os.W_OK)
    if isinstance(error, SafetensorError):  # the number stands in its text alone
        return any(f"(os error {number})" in str(error) for number in FULL)
    return _is_full_disk(before)


def _full_disk() -> str:
    """The sentence that ends the study."""
    places = [place for place in (_temporary(), default_cache()) if place.exists()]
    fullest = min(places, key=lambda place: shutil.disk_usage(place).free, default=_temporary())
    return (
        f"the disk of {fullest} on the machine {socket.gethostname()} is full, and every trial needs room there; make "
        "room, or set TMPDIR to another folder for temporary files, and run the same command again"
    )


def _temporary() -> Path:
    """The folder for temporary files. To ask `tempfile` for it the first time fails where it is full."""
    return Path(tempfile.tempdir or os.environ.get("TMPDIR") or "/tmp")


def _device_works() -> bool:
    """Whether the GPU still computes: after some errors no call of the process ever works again."""
    if not torch.cuda.is_available():
        return True
    try:
        torch.zeros(1, device="cuda").add_(1).item()
    except RuntimeError:
        return False
    return True
