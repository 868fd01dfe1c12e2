"""Run one task on a worker: a trial, or several that train together in a population."""

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
from trainables.errors import UnsuitedError, UserError, message_of
from trainables.machine import machine
from trainables.training.distributed import Workers
from trainables.training.loop import Interrupted
from trainables.trial import Reporter
from trainables.trial.process_reset import Growth, ProcessReset
from trainables.trial.result import TrialResult, Unscored
from trainables.trial.run import run_trials
from trainables.trial.spec import Soup, TrialSpec

EMBEDDINGS = "embeddings"
"""Subfolder of each machine's cache, with the embeddings that all trials over one frozen encoder share."""
REPORTS_OF_STEPS, REPORT_SECONDS = 100, 5.0
"""How often the losses of a training are reported: after each hundredth of its steps, and every 5 seconds."""
DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a full disk and of an exhausted disk quota."""
NO_TEMPORARY = "No usable temporary directory found"
"""Part of Python's message if no folder for temporary files can be written, for example on a full disk."""
DRIVER = Path("/proc/driver/nvidia/version")
RENEWED_AFTER, LARGEST_GROWTH, MOST_THREADS = 500, 2 * 2**30, 50
"""A worker group is replaced after 500 trials, or if a worker's main or GPU memory has grown by more than 2 GiB, or its
threads by more than 50, since its first trial."""


def perform(task: WorkerTask, me: Worker) -> None:
    """Run the task. Report the outcome of its trials, and whether a new process should replace this one.

    An error fails its trial alone; a full disk ends the study. In a group of several workers the failed worker also
    raises the error, because the other workers may wait for it. Train then restarts all of them.
    """
    reason, details = None, ""
    torch.set_num_threads(max(1, task.resources.cpus))
    reset = _process_reset()
    try:
        with reset.trial():
            _run(task, me)
    except Interrupted:
        pass  # the checkpoint is kept; the same command goes on from it
    except BaseException as error:  # a plugin's objective may raise anything, and call `sys.exit()`
        if _is_full_disk(error):  # the next trials would fail in the same way, each after its whole training
            me.tell(DiskFull(_full_disk()))
            return
        reason = redacted(_reason(error))
        details = "" if isinstance(error, UserError) else redacted(traceback.format_exc())
        if me.count > 1:
            if isinstance(error, UserError | torch.OutOfMemoryError):  # it would only happen again
                me.finish(task, reason, details)
            else:
                ray.get(me.coordinator.note_error.remote(me.group, task.number, reason))
            raise RuntimeError(reason) from None  # a class that Train can pass on, unlike some plugin's own
    if me.rank == 0:
        renew = _needs_renewal(reset.growth(), task.number) or (reason is not None and not _device_works())
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
            waited = me.timesheet.spent.get("waiting", 0.0) - waited  # time at rungs and for checkpoints
            me.timesheet.add("busy", time.perf_counter() - began - evaluating - waited)
            saved = spec.model_folder is not None and spec.model_folder.exists()
            with me.timesheet.during("waiting"):
                if spec.model_folder is not None and saved:
                    transport.send(spec.model_folder, f"{MODELS}/{trial.key}")
            run = TrialRun(trial, task.sources, me.timesheet.read_and_reset(), machine(), saved)
            with me.timesheet.during("waiting"):
                if isinstance(outcome, Unscored):
                    ray.get(me.coordinator.hand_over.remote(trial.key, HandedTrial(run, outcome)))
                else:
                    me.tell(run.scored(outcome))
            began, waited = time.perf_counter(), me.timesheet.spent.get("waiting", 0.0)


def _outcomes(
    task: WorkerTask, specs: Sequence[TrialSpec], me: Worker, checkpoints: TaskCheckpoints, resume: Path | None
) -> Iterator[TrialResult | Unscored | None]:
    """Yield the outcome of each trial. An explored recipe that does not suit the data or the encoder does not fail: its
    result carries the reason to the search."""
    try:
        yield from run_trials(
            specs,
            workers=_workers(me, task.resources.gpus),
            reporter=StudyReporter(task.trials, task.key, me, checkpoints),
            resume=resume,
            embedding_folder=default_cache() / EMBEDDINGS,
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
    """Fetch the models of a trial's soup, and return the soup. `UserError` if one is not in the results any more."""
    models = tuple(scratch / "averaged" / key for key in trial.averaged)
    for key, folder in zip(trial.averaged, models, strict=True):
        if not transport.fetch(f"{MODELS}/{key}", folder):
            raise UserError(f"the results hold no model {MODELS}/{key}, which is to be averaged with others")
    return Soup(models, SoupVariant.of(trial.seed).share)


class StudyReporter(Reporter):
    """Sends a trial's events to the coordinator, and brings back the scheduler's verdicts and the study's orders."""

    def __init__(self, trials: Sequence[Trial], files: str, me: Worker, checkpoints: TaskCheckpoints) -> None:
        """`trials` train together. `files` is the name of their checkpoints."""
        self.keys, self.files, self.me, self.checkpoints = tuple(trial.key for trial in trials), files, me, checkpoints
        self.rung_plan = trials[0].rungs
        self.steps, self.reported_step, self.reported_at = 1, 0, float("-inf")

    def begin(self, steps: int) -> None:
        self.steps = steps

    def step(self, step: int, scalars: Mapping[str, float]) -> None:
        late = time.monotonic() - self.reported_at > REPORT_SECONDS
        if not (late or step == self.steps or step - self.reported_step >= self.steps / REPORTS_OF_STEPS):
            return
        self.reported_step, self.reported_at = step, time.monotonic()
        # Not awaited: displays must not slow down a training.
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
    """Limit this process's GPU memory to its share of a GPU. `UserError` if PyTorch cannot use the GPU that the trial
    holds, as the trial would then train on the CPU."""
    if not gpus:
        return
    # Batches differ in length, and fixed pieces would leave memory unused. CUDA reads this when it starts.
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
def _process_reset() -> ProcessReset:
    """Return the object that resets this process after a trial. It is made once, before the first trial."""
    return ProcessReset()


def _needs_renewal(growth: Growth, number: int) -> bool:
    """Return whether the process has grown so much, or done so many trials, that a new one is better."""
    return (
        number >= RENEWED_AFTER
        or growth.memory > LARGEST_GROWTH
        or growth.cuda > LARGEST_GROWTH
        or growth.threads > MOST_THREADS
    )


def _workers(me: Worker, gpus: float) -> Workers:
    """Return the workers that train a trial together. `gpus`: number of GPUs per worker, perhaps a fraction."""
    return dataclasses.replace(_join_workers() if me.count > 1 else Workers(), gpus=gpus)


@functools.cache
def _join_workers() -> Workers:
    """Return the process group of this process, joined once."""
    return Workers.from_process_group()


def _reason(error: BaseException) -> str:
    """Return the whole error text: secrets can be removed only from whole text. The result writer shortens it."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, torch.OutOfMemoryError):
        return (
            "the GPU's memory is full; lower optimisation.batch_size or encoder.max_length, or give the trial more "
            "workers"
        )
    return f"{type(error).__name__}: {message_of(error)}"


def _is_full_disk(error: BaseException | None) -> bool:
    """Return whether the error, or its cause, is a full disk of this machine. Errors that come through Ray concern the
    disk of the results; the study's process reports those."""
    if error is None or isinstance(error, ray.exceptions.RayTaskError):
        return False
    before = error.__cause__ or error.__context__
    if isinstance(error, OSError) and error.errno in DISK_FULL_ERRORS:
        return not isinstance(before, ray.exceptions.RayTaskError)
    if isinstance(error, FileNotFoundError) and NO_TEMPORARY in str(error):
        return os.access(_temporary(), os.W_OK)
    if isinstance(error, SafetensorError):  # only the text contains the number
        return any(f"(os error {number})" in str(error) for number in DISK_FULL_ERRORS)
    return _is_full_disk(before)


def _full_disk() -> str:
    """Return the message about a full disk that ends the study."""
    folders = [folder for folder in (_temporary(), default_cache()) if folder.exists()]
    fullest = min(folders, key=lambda folder: shutil.disk_usage(folder).free, default=_temporary())
    return (
        f"the disk of {fullest} on the machine {socket.gethostname()} is full, and every trial needs room there; make "
        "room, or set TMPDIR to another folder for temporary files, and run the same command again"
    )


def _temporary() -> Path:
    """Return the folder for temporary files. The first call of `tempfile` for it would fail if the folder is full."""
    return Path(tempfile.tempdir or os.environ.get("TMPDIR") or "/tmp")


def _device_works() -> bool:
    """Return whether the GPU still computes. After some errors no CUDA call of the process works again."""
    if not torch.cuda.is_available():
        return True
    try:
        torch.zeros(1, device="cuda").add_(1).item()
    except RuntimeError:
        return False
    return True
