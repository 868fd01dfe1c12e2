"""TensorBoard: a folder a trial in `RESULTS/tensorboard`, with losses, rungs, and in the end every score.

tensorboard --logdir RESULTS/tensorboard
"""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reports.ledger.names import to_write
from search_spaces.goals import Goal
from study.callbacks.state import StudyState
from study.callbacks.tracker import Tracker, TrackerRun, name_of, parameters
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
OF = "trial.txt"
"""In a trial's folder: its key, by which the folder is found again."""
LONGEST = 80
"""Letters of a folder's name."""
FLUSH_SECONDS = 5
"""How old a point may get before it is in the file; the end of a trial does not wait for it."""


def build(state: StudyState) -> TensorBoard:
    """It needs nothing that is not installed with the study."""
    threading.excepthook = _no_writers
    return TensorBoard(state.plan.results, state.plan.space.searched_goals)


class TensorBoard(Tracker["Writer"]):
    """A folder is named as people call the trial, `17-batch-128-cls/seed-0`. It stays the trial's, whatever the recipe
    is called when the study is run again."""

    def __init__(self, results: Path, goals: Sequence[Goal]) -> None:
        super().__init__(goals)
        self.results = results
        self.files: list[SummaryWriter] = []
        """Those that are open."""
        folders = sorted((results / FOLDER).glob(f"*/*/{OF}"))
        self.folders = {path.read_text(encoding="utf-8"): str(path.parent.relative_to(results)) for path in folders}
        """By a trial's key, within the results."""

    def folder(self, trial: Trial) -> Path:
        """Made where it is not there yet; of two recipes of one name the second has its hash behind it."""
        if trial.key not in self.folders:
            called = re.sub(r"[^A-Za-z0-9.+~]+", "-", trial.name)[:LONGEST].strip("-.") or "trial"
            name = f"{FOLDER}/{called}/seed-{trial.seed}"
            if (self.results / name).exists():
                name = f"{FOLDER}/{called}-{trial.recipe_hash}/seed-{trial.seed}"
            path = to_write(self.results, name)
            path.mkdir(parents=True, exist_ok=True)
            to_write(self.results, f"{name}/{OF}").write_text(trial.key, encoding="utf-8")
            self.folders[trial.key] = name
        return to_write(self.results, self.folders[trial.key])

    def open(self, trial: Trial) -> Writer:
        return Writer(self, trial)

    @contextlib.contextmanager
    def abandoned_on_error(self) -> Iterator[None]:
        """Where the disk is full no file is closed any more: the library would try each again when the process ends,
        with a traceback."""
        try:
            yield
        except OSError:
            for file in self.files:
                file.file_writer.event_writer.close = lambda: None
            raise


class Writer(TrackerRun):
    """A file of a trial, from the first number on: it hides what an earlier one has from that step on."""

    def __init__(self, board: TensorBoard, trial: Trial) -> None:
        self.board, self.trial = board, trial
        self.opened: SummaryWriter | None = None

    def log(self, values: Mapping[str, float], step: int) -> None:
        file = self._file(step)
        for name, value in values.items():
            file.add_scalar(name, value, step)

    def end(self, status: str, reason: str) -> None:
        file = self._file(self.step)
        if status != "interrupted":  # what is said of the end would stay where the study is run again
            if reason:
                file.add_text("ended", _verbatim(f"{status}: {reason}"), self.step)
            _, _, end = hparams({}, {})
            file.file_writer.add_summary(end, self.step)
        with self.board.abandoned_on_error():
            file.close()
        self.board.files.remove(file)

    def _file(self, step: int) -> SummaryWriter:
        if self.opened is None:
            folder = self.board.folder(self.trial)
            before = len(list(folder.glob("events.*")))
            with self.board.abandoned_on_error():
                self.opened = SummaryWriter(
                    str(folder),
                    purge_step=step if before else None,
                    flush_secs=FLUSH_SECONDS,
                    max_queue=0,  # no bound: where the disk is full its thread dies, and nobody empties the queue
                    filename_suffix=f".{before}",  # two files of one second would have the same name
                )
            self.board.files.append(self.opened)
            _, start, _ = hparams(parameters(self.trial), {})  # what a table has of metrics follows from the scalars
            named = _verbatim(name_of(self.trial), f"recipe {self.trial.recipe_hash}")
            self.opened.add_text("trial", named, step)
            self.opened.file_writer.add_summary(start, step)
        return self.opened


def _no_writers(died: threading.ExceptHookArgs) -> None:
    """Say of a thread that it died, unless it is one that writes a file of TensorBoard's: that the disk is full is
    told when the file is closed."""
    written = type(died.thread).__module__.startswith("tensorboardX")
    if not (written and isinstance(died.exc_value, OSError)):
        threading.__excepthook__(died)


def _verbatim(*lines: str) -> str:
    """Lines as TensorBoard's Markdown shows them unchanged."""
    return "\n".join(f"    {line}" for line in lines)
