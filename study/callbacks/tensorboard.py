"""TensorBoard: a folder a trial in `RESULTS/tensorboard`, with losses, rungs, and in the end every score.

tensorboard --logdir RESULTS/tensorboard
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reports.ledger import Record
from reports.ledger.names import to_write
from study.callbacks.base import Outlook, Watcher
from study.callbacks.tracker import measured, name_of, parameters, rung_metrics
from study.cli.terminal import printable
from study.trial import Trial


@contextlib.contextmanager
def _without_torch() -> Iterator[None]:
    """Nothing within can import torch, unless it is there already."""
    absent = sys.modules.setdefault("torch", None) is None  # type: ignore[arg-type]
    try:
        yield
    finally:
        if absent:
            del sys.modules["torch"]


with _without_torch():  # for a name in an annotation it would keep a study waiting for two seconds
    from tensorboardX import SummaryWriter
    from tensorboardX.summary import hparams

FOLDER = "tensorboard"
FLUSH_SECONDS = 5
"""How old a point may get before it is in the file; the end of a trial does not wait for it."""


def build(outlook: Outlook) -> TensorBoard:
    """It needs nothing that is not installed with the study."""
    threading.excepthook = _no_writers
    return TensorBoard(outlook.plan.results)


class TensorBoard(Watcher):
    """Folders are named by a trial's key; its label is shown as a text and among the hyperparameters."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.writers: dict[str, SummaryWriter] = {}
        self.steps: dict[str, int] = {}  # the last that was told, by trial

    def started(self, trials: Sequence[Trial]) -> None:
        for trial in trials:  # where workers died, steps come again: a new file hides the old points
            self._close(trial.key)

    def step(self, trial: Trial, step: int, steps: int, scalars: Mapping[str, float]) -> None:
        writer = self._writer(trial, step)
        for name, value in scalars.items():
            writer.add_scalar(f"train/{name}", value, step)
        self.steps[trial.key] = step

    def rung(self, trial: Trial, number: int, scores: Mapping[str, float]) -> None:
        step = self.steps.get(trial.key, 0)
        writer = self._writer(trial, step)
        for name, value in rung_metrics(number, scores).items():
            writer.add_scalar(name, value, step)

    def finished(self, trial: Trial, record: Record) -> None:
        step = self.steps.get(trial.key, 0)
        writer = self._writer(trial, step)
        for name, value in measured(record).items():
            writer.add_scalar(name, value, step)
        self._end(trial, "" if record.status == "finished" else str(record.training.get("stopped")))

    def failed(self, trial: Trial, reason: str) -> None:
        self._writer(trial, self.steps.get(trial.key, 0))
        self._end(trial, f"failed: {reason}")

    def close(self) -> None:
        for key in list(self.writers):
            self._close(key)

    def _writer(self, trial: Trial, step: int) -> SummaryWriter:
        """The trial's open file; a new one hides what an earlier one has from this step on."""
        if trial.key not in self.writers:
            folder = to_write(self.results, f"{FOLDER}/{trial.key}")
            before = len(list(folder.glob("*")))
            with self._abandoned_on_error():
                writer = self.writers[trial.key] = SummaryWriter(
                    str(folder),
                    purge_step=step if before else None,
                    flush_secs=FLUSH_SECONDS,
                    max_queue=0,  # no bound: where the disk is full its thread dies, and nobody empties the queue
                    filename_suffix=f".{before}",  # two files of one second would have the same name
                )
            _, start, _ = hparams(parameters(trial), {})  # what a table has of metrics follows from the scalars
            writer.add_text("trial", _verbatim(name_of(trial), f"recipe {trial.recipe_hash}"), step)
            writer.file_writer.add_summary(start, step)
        return self.writers[trial.key]

    def _end(self, trial: Trial, reason: str) -> None:
        writer, step = self.writers[trial.key], self.steps.pop(trial.key, 0)
        if reason:
            writer.add_text("ended", _verbatim(printable(reason)), step)
        _, _, end = hparams({}, {})
        writer.file_writer.add_summary(end, step)
        self._close(trial.key)

    def _close(self, key: str) -> None:
        if key in self.writers:
            with self._abandoned_on_error():
                self.writers[key].close()
            del self.writers[key]

    @contextlib.contextmanager
    def _abandoned_on_error(self) -> Iterator[None]:
        """Where the disk is full no file is closed any more: the library would try each again when the process ends,
        with a traceback."""
        try:
            yield
        except OSError:
            for writer in self.writers.values():
                writer.file_writer.event_writer.close = lambda: None
            raise


def _no_writers(died: threading.ExceptHookArgs) -> None:
    """Say of a thread that it died, unless it is one that writes a file of TensorBoard's: that the disk is full is
    told when the file is closed."""
    written = type(died.thread).__module__.startswith("tensorboardX")
    if not (written and isinstance(died.exc_value, OSError)):
        threading.__excepthook__(died)


def _verbatim(*lines: str) -> str:
    """Lines as TensorBoard's Markdown shows them unchanged."""
    return "\n".join(f"    {line}" for line in lines)
