"""How far a running study is: `RESULTS/progress.json`, and the losses of its trials in `RESULTS/progress/`.

Both are for whoever looks at a study while it runs (`reports.live`). No report is made of them.
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
from reports.ledger.names import to_write
from trainables.typed_json import Count, parse_json, read_fields


@dataclass(frozen=True)
class Waiting:
    """A trial that has not begun."""

    key: str
    name: str
    """The row's label, or the search's name for the recipe: `#3 tau 0.05`."""
    changes: str
    """What its recipe changes of the base recipe: `objective.weight=0.3`."""
    seed: Count
    objective: str = ""
    """What its training minimises; losses of different ones cannot be compared."""


@dataclass(frozen=True)
class Running(Waiting):
    """A trial that runs. What is not known yet is None."""

    since: Moment = ""
    step: Count | None = None
    steps: Count | None = None
    """How many its training has."""
    loss: float | None = None
    """Of that step."""
    rung: Count | None = None
    """The last pause of its training at which a scheduler was told scores."""
    scores: dict[str, float | None] = field(default_factory=dict)
    """Those development scores, by goal."""
    attempt: Count = 1
    """How often this run of the study has begun it: again after its workers died."""


STAGES = ("search", "finals", "further")
"""Of a study, in order: all that finalists are chosen from, their trainings, and averages and a learning curve."""


@dataclass(frozen=True)
class StageTime:
    """How long a stage of the study went on in this run, and still goes on, in seconds."""

    name: str
    """One of `STAGES`."""
    passed: float
    left: float


@dataclass(frozen=True)
class Progress:
    """A study as the process that runs it sees it."""

    written_at: Moment
    """Long ago, for a study that has not ended: its process is gone."""
    began_at: Moment
    """When this run of the study began."""
    counts: dict[str, Count]
    """How many trials are `queued`, `running`, `finished`, `stopped` (early) and `failed`."""
    running: list[Running] = field(default_factory=list)
    queued: list[Waiting] = field(default_factory=list)
    """Those that are next; more are counted than listed where there are many, or a search has yet to choose them."""
    at_once: Count = 1
    """How many may run at the same time."""
    seconds_left: float | None = None
    estimate: str = ""
    """How that is known, or why it is not."""
    stages: list[StageTime] = field(default_factory=list)
    """Those that ran or will; empty while nobody knows how long they take."""
    failed_starts: str = ""
    """`the last 3 starts failed: ImportError: ...` while no worker starts, else nothing."""
    ended: bool = False

    def save(self, results: Path) -> Path:
        """Write `progress.json`, whole."""
        path = results / PROGRESS
        write_json(path, self)
        return path

    @classmethod
    def load(cls, results: Path) -> Progress | None:
        """Read it back; None where the study wrote none, `UserError` where the file is not one."""
        path = results / PROGRESS
        return read_whole(cls, path, "a study's progress") if path.is_file() else None


@dataclass
class Curve:
    """The losses of a trial."""

    steps: int
    """How many its training has."""
    points: list[tuple[int, float]]
    """Step and loss, about a hundred of a whole training, by step."""


def add_losses(results: Path, key: str, steps: int, points: Iterable[tuple[int, float]]) -> None:
    """Note losses of a trial, step and loss each; its training has so many `steps`.

    `OSError` where they cannot be written.
    """
    path = to_write(results, f"{CURVES}/{key}.jsonl")
    lines = [json.dumps({"step": step, "steps": steps, "loss": {key: float(f"{loss:.6g}")}}) for step, loss in points]
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


class Curves:
    """Reads the losses again and again, each file only when it has grown."""

    def __init__(self, results: Path) -> None:
        self.folder = results / CURVES
        self._read: dict[str, tuple[int, Curve | None]] = {}

    def all(self) -> dict[str, Curve]:
        """By trial key, every curve in the folder."""
        return self.of(path.stem for path in sorted(self.folder.glob("*.jsonl")))

    def of(self, keys: Iterable[str]) -> dict[str, Curve]:
        """Those of these trials that have one."""
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
    """A line of a curve's file: the loss at a step, by the trial's key."""

    step: Count
    steps: Count
    loss: dict[str, float]


def _parse(text: str, key: str) -> Curve | None:
    """A trial that went on from a checkpoint repeats some steps: the last time counts."""
    curve = Curve(0, [])
    for line in text.splitlines():
        try:
            losses = read_fields(_Losses, parse_json(line))
        except ValueError:  # broken, as the last line is while it is being written
            continue
        while curve.points and curve.points[-1][0] >= losses.step:
            curve.points.pop()
        curve.steps = losses.steps
        curve.points += [(losses.step, losses.loss[key])] if key in losses.loss else []
    return curve if curve.points else None


def with_curve(trial: Running, curve: Curve | None) -> Running:
    """The trial with its last step and loss."""
    if curve is None or not curve.points:
        return trial
    step, loss = curve.points[-1]
    return dataclasses.replace(trial, step=step, steps=curve.steps, loss=loss)
