"""The progress of a running study: `RESULTS/progress.json`, and the losses of its trials in `RESULTS/progress/`.

Both serve those who watch a running study (`reports.live`). No report is made of them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from reports.ledger.folders import CURVES, PROGRESS
from reports.ledger.json_files import read_whole, write_json
from reports.ledger.moments import Moment
from reports.ledger.names import writable_path
from trainables.typed_json import Count, parse_json, read_fields


@dataclass(frozen=True)
class Waiting:
    """A trial that has not started."""

    key: str
    name: str
    """The trial's name: the row's label, or the search's name for the recipe, as `#3 tau 0.05`."""
    changes: str
    """Settings in which the trial's recipe differs from the base recipe: `objective.weight=0.3`."""
    seed: Count
    objective: str = ""
    """Name of the loss that the training minimises. Losses of different objectives cannot be compared."""


@dataclass(frozen=True)
class Running(Waiting):
    """A running trial. Values that are not known yet are None."""

    since: Moment = ""
    step: Count | None = None
    steps: Count | None = None
    loss: float | None = None
    rung: Count | None = None
    """Number of the last rung, at which the scheduler received scores of the trial."""
    scores: dict[str, float | None] = field(default_factory=dict)
    """Development scores at the last rung, by goal."""
    attempt: Count = 1
    """How often this run of the study has started the trial; it starts again after its workers died."""


STAGES = ("search", "finals", "further")
"""Stages of a study: the search up to the choice of finalists, the finals, then soups and a learning curve."""


@dataclass(frozen=True)
class StageTime:
    """How long one stage of the study has taken in this run, and may still take, in seconds."""

    name: str
    """One of `STAGES`."""
    passed: float
    left: float


@dataclass(frozen=True)
class Progress:
    """The state of a study as its own process reports it."""

    written_at: Moment
    """When the file was last written. If that is long ago and the study has not ended, its process is gone."""
    began_at: Moment
    """Start of this run of the study."""
    counts: dict[str, Count]
    """How many trials are `queued`, `running`, `finished`, `stopped` (early) and `failed`."""
    running: list[Running] = field(default_factory=list)
    queued: list[Waiting] = field(default_factory=list)
    """The next trials: fewer than `counts` has if there are many, or if a search has yet to choose their recipes."""
    at_once: Count = 1
    """Largest number of trials that may run at the same time."""
    seconds_left: float | None = None
    estimate: str = ""
    """How `seconds_left` was estimated, or why there is no estimate."""
    stages: list[StageTime] = field(default_factory=list)
    """The stages of this run with their times; empty if the times are unknown."""
    failed_starts: str = ""
    """Why no worker starts, as `the last 3 starts failed: ImportError: ...`; empty otherwise."""
    ended: bool = False

    def save(self, results: Path) -> Path:
        """Write `progress.json`, as a whole file."""
        path = results / PROGRESS
        write_json(path, self)
        return path

    @classmethod
    def load(cls, results: Path) -> Progress | None:
        """Read `progress.json`. Return None if the study wrote none; raise `UserError` if the file is malformed."""
        path = results / PROGRESS
        return read_whole(cls, path, "a study's progress") if path.is_file() else None


@dataclass
class Curve:
    """The training losses of one trial."""

    steps: int
    """Total number of training steps."""
    points: list[tuple[int, float]]
    """Pairs of step and loss, sorted by step; about a hundred for a whole training."""


def add_losses(results: Path, key: str, steps: int, points: Iterable[tuple[int, float]]) -> None:
    """Append pairs of step and loss of a trial; `steps` is the total number of training steps.

    Raise `OSError` if the file cannot be written.
    """
    path = writable_path(results, f"{CURVES}/{key}.jsonl")
    lines = [json.dumps({"step": step, "steps": steps, "loss": {key: float(f"{loss:.6g}")}}) for step, loss in points]
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


class Curves:
    """Reads the training losses of trials in a results folder. A file is read again only if its size has changed."""

    def __init__(self, results: Path) -> None:
        self.folder = results / CURVES
        self._read: dict[str, tuple[int, Curve | None]] = {}

    def all(self) -> dict[str, Curve]:
        """Return every curve in the folder, by trial key."""
        return self.of(path.stem for path in sorted(self.folder.glob("*.jsonl")))

    def of(self, keys: Iterable[str]) -> dict[str, Curve]:
        """Return the curves of these trials, by trial key. Trials without a curve are left out."""
        read = ((key, self._of(key)) for key in keys)
        return {key: curve for key, curve in read if curve is not None}

    def _of(self, key: str) -> Curve | None:
        path = self.folder / f"{key}.jsonl"
        try:
            if not path.is_file():
                return None
            size = path.stat().st_size
            if self._read.get(key, (-1, None))[0] != size:
                self._read[key] = (size, _parse(path.read_text(encoding="utf-8", errors="replace"), key))
        except OSError:
            return None
        return self._read[key][1]


@dataclass(frozen=True)
class _Losses:
    """A line of a curve's file: the loss at `step` of `steps`. `loss` maps the trial's key to the loss."""

    step: Count
    steps: Count
    loss: dict[str, float]


def _parse(text: str, key: str) -> Curve | None:
    """Parse a curve's file. A trial that continued from a checkpoint has some steps twice: the later losses count."""
    curve = Curve(0, [])
    for line in text.splitlines():
        try:
            losses = read_fields(_Losses, parse_json(line))
        except ValueError:  # broken, like the last line while it is being written
            continue
        while curve.points and curve.points[-1][0] >= losses.step:
            curve.points.pop()
        curve.steps = losses.steps
        curve.points += [(losses.step, losses.loss[key])] if key in losses.loss else []
    return curve if curve.points else None


def with_curve(trial: Running, curve: Curve | None) -> Running:
    """Return the trial with the step and the loss at the end of its curve."""
    if curve is None or not curve.points:
        return trial
    step, loss = curve.points[-1]
    return dataclasses.replace(trial, step=step, steps=curve.steps, loss=loss)
