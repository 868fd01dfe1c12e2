"""What the processes of a trial are told, and the names that they share with the process that plans the study.

It is the lowest module of `study`: planning, searching, scheduling and workers all import it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.ledger import trial_key
from trainables.plugins import run_source
from trainables.recipe import Recipe, Value
from trainables.training.rungs import Measure, RungPlan

VALUES = "values"
"""The numbers that a scheduler judges by: a rung's development score of each goal. They are maximised."""
RUNG = "rung"
"""The number of the rung, from 1 on, that they belong to."""
METRIC, RESOURCE = "selection", "resource"
"""What a scheduler of Ray Tune's is told beside `RUNG`: the first of the values, and how much training was seen."""


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
    evaluation: Mapping[str, Value]
    """How its model is scored, flat."""
    seed: int
    name: str
    """What people call it."""
    per_worker: Mapping[str, float]
    """Ray resources of one worker."""
    workers: int
    """The least that it runs with."""
    most_workers: int
    """The most; as `workers`, unless it is elastic."""
    rungs: RungPlan | None
    """Where a scheduler may stop this trial; None where none may."""
    hardware: str
    sources: tuple[SourceFile, ...] = ()
    """What is run before the recipe is built, in this order."""

    @property
    def key(self) -> str:
        """Names the trial's files."""
        return trial_key(self.recipe_hash, self.seed)


def to_config(key: str, trials: Sequence[TrialSpec], done: Sequence[str] = ()) -> dict[str, Any]:
    """Ray Tune's config of one trial, or of several that train together; `key` names their files. Plain values only.

    `done`: keys of those that have a record already.
    """
    plain = [{**dataclasses.asdict(trial), "key": trial.key} for trial in trials]
    return {"key": key, "trials": plain, "done": list(done)}


def specs_of(config: Mapping[str, Any]) -> list[TrialSpec]:
    """The trials of such a config."""
    found = []
    for plain in config["trials"]:
        values = {name: value for name, value in plain.items() if name != "key"}
        sources = tuple(SourceFile(**source) for source in plain["sources"])
        found.append(TrialSpec(**{**values, "rungs": _rungs(plain["rungs"]), "sources": sources}))
    return found


def _rungs(plain: Mapping[str, Any] | None) -> RungPlan | None:
    if plain is None:
        return None
    measures = (Measure(**{**measure, "tasks": tuple(measure["tasks"])}) for measure in plain["measures"])
    return RungPlan(plain["unit"], tuple(plain["at"]), tuple(measures))


def recipes_of(trials: Sequence[TrialSpec]) -> list[Recipe]:
    """The recipes, once everything that they may name is registered: plugins and a person's space file run first."""
    for trial in trials:
        for source in trial.sources:
            source.run()
    return [Recipe.from_flat(trial.recipe) for trial in trials]
