"""TensorBoard: a folder per trial in `RESULTS/tensorboard`, with its losses, rungs and final scores.

tensorboard --logdir RESULTS/tensorboard
"""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reports.ledger.names import writable_path
from search_spaces.goals import Goal
from study.callbacks.state import StudyState
from study.callbacks.tracker import Tracker, TrackerRun, name_of, parameters
from study.trial import Trial


@contextlib.contextmanager
def _without_torch() -> Iterator[None]:
    """Prevent imports of torch inside, unless torch is loaded already."""
    absent = sys.modules.setdefault("torch", None) is None  # type: ignore[arg-type]
    try:
        yield
    finally:
        if absent:
            del sys.modules["torch"]


with _without_torch():  # tensorboardX imports torch for an annotation, which would delay a study by two seconds
    from tensorboardX import SummaryWriter
    from tensorboardX.summary import hparams

FOLDER = "tensorboard"
OF = "trial.txt"
"""Name of a file in each trial's folder. The file contains the trial's key."""
LONGEST = 80
"""Most characters of a folder name."""
FLUSH_SECONDS = 5
"""At most this many seconds pass until a point is in the file. The end of a trial does not wait for that."""


def build(state: StudyState) -> TensorBoard:
    """Return the callback. It needs no package beyond the study's own."""
    threading.excepthook = _no_writers
    return TensorBoard(state.plan.results, state.plan.space.searched_goals)


class TensorBoard(Tracker["Writer"]):
    """Writes one folder per trial, named `17-batch-128-cls/seed-0` after the trial. A trial keeps its folder, even if
    its recipe has another name in a later run."""

    def __init__(self, results: Path, goals: Sequence[Goal]) -> None:
        super().__init__(goals)
        self.results = results
        self.files: list[SummaryWriter] = []
        """Open files."""
        folders = sorted((results / FOLDER).glob(f"*/*/{OF}"))
        self.folders = {path.read_text(encoding="utf-8"): str(path.parent.relative_to(results)) for path in folders}
        """Folders within the results, by trial key."""

    def folder(self, trial: Trial) -> Path:
        """Return the trial's folder; create it if missing. If two recipes have the same name, the hash of the second
        one is added to its folder's name."""
        if trial.key not in self.folders:
            called = re.sub(r"[^A-Za-z0-9.+~]+", "-", trial.name)[:LONGEST].strip("-.") or "trial"
            name = f"{FOLDER}/{called}/seed-{trial.seed}"
            if (self.results / name).exists():
                name = f"{FOLDER}/{called}-{trial.recipe_hash}/seed-{trial.seed}"
            path = writable_path(self.results, name)
            path.mkdir(parents=True, exist_ok=True)
            writable_path(self.results, f"{name}/{OF}").write_text(trial.key, encoding="utf-8")
            self.folders[trial.key] = name
        return writable_path(self.results, self.folders[trial.key])

    def open(self, trial: Trial) -> Writer:
        return Writer(self, trial)

    @contextlib.contextmanager
    def abandoned_on_error(self) -> Iterator[None]:
        """Run the code inside. If the disk is full, forget the open files: at exit the library would try again to close
        each, and print tracebacks."""
        try:
            yield
        except OSError:
            for file in self.files:
                file.file_writer.event_writer.close = lambda: None
            raise


class Writer(TrackerRun):
    """Writes a trial's file, created at the first number. From that step on it hides points of an earlier file."""

    def __init__(self, board: TensorBoard, trial: Trial) -> None:
        self.board, self.trial = board, trial
        self.opened: SummaryWriter | None = None

    def log(self, values: Mapping[str, float], step: int) -> None:
        file = self._file(step)
        for name, value in values.items():
            file.add_scalar(name, value, step)

    def end(self, status: str, reason: str) -> None:
        file = self._file(self.step)
        if status != "interrupted":  # a text about the end would remain if the study is run again
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
                    max_queue=0,  # no bound: on a full disk the writer thread dies, and nobody empties the queue
                    filename_suffix=f".{before}",  # two files of one second would have the same name
                )
            self.board.files.append(self.opened)
            _, start, _ = hparams(parameters(self.trial), {})  # the table of metrics is made from the scalars
            named = _verbatim(name_of(self.trial), f"recipe {self.trial.recipe_hash}")
            self.opened.add_text("trial", named, step)
            self.opened.file_writer.add_summary(start, step)
        return self.opened


def _no_writers(died: threading.ExceptHookArgs) -> None:
    """Report a thread's death, unless the thread writes a TensorBoard file: an error such as a full disk is reported
    when that file is closed."""
    written = type(died.thread).__module__.startswith("tensorboardX")
    if not (written and isinstance(died.exc_value, OSError)):
        threading.__excepthook__(died)


def _verbatim(*lines: str) -> str:
    """Return the lines as Markdown that TensorBoard shows unchanged."""
    return "\n".join(f"    {line}" for line in lines)
