"""What the processes of a trial are told, and the names that they share with the process that plans the study.

It is the lowest module of `study`: planning, searching, scheduling and workers all import it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.ledger import trial_key
from trainables.plugins import run_source
from trainables.recipe import Value

METRIC = "selection"
"""The number that a scheduler judges by: a rung's development score. It is maximised."""
RUNG = "rung"
"""The number of the rung, from 1 on, that a metric belongs to."""
TRAIN = "train"
"""The folder where Ray Train keeps checkpoints."""
MEMBERS = ".members.json"
"""How the files in it end that say who trains together in a population."""


@dataclass(frozen=True)
class SourceFile:
    """A plugin or a person's space file. It travels as text: a worker's machine may not have the file."""

    what: str
    path: str
    text: str

    def run(self) -> None:
        """Run it, once in this process; `UserError` with the line where it fails."""
        run_source(self.text, self.path, self.what)


@dataclass(frozen=True)
class TrialSpec:
    """All that the workers of a trial are told."""

    recipe: Mapping[str, Value]
    """Flat."""
    recipe_hash: str
    seed: int
    name: str
    """What people call it."""
    per_worker: Mapping[str, float]
    """Ray resources of one worker."""
    workers: int
    """The least that it runs with."""
    most_workers: int
    """The most; as `workers`, unless it is elastic."""
    scheduled: bool
    """Whether a scheduler may stop this trial at a rung."""
    hardware: str
    sources: tuple[SourceFile, ...] = ()
    """What is run before the recipe is built, in this order."""

    @property
    def key(self) -> str:
        """Names the trial's files."""
        return trial_key(self.recipe_hash, self.seed)


def to_config(key: str, trials: Sequence[TrialSpec]) -> dict[str, Any]:
    """Ray's config of one trial, or of several that train together; `key` names their files. Plain values only."""
    return {"key": key, "trials": [dataclasses.asdict(trial) for trial in trials]}


def from_config(config: Mapping[str, Any]) -> list[TrialSpec]:
    """The trials of such a config."""
    return [
        TrialSpec(**{**plain, "sources": tuple(SourceFile(**source) for source in plain["sources"])})
        for plain in config["trials"]
    ]


def answer_path(results: Path, key: str, rung: int) -> Path:
    """The file where a scheduler's verdict on a trial's rung is written: `continue` or `stop`."""
    return results / "rungs" / f"{key}-{rung}"
