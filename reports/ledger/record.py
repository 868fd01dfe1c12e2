"""What one trial left behind: a file of the ledger."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from reports.ledger.folders import SCHEMA, Hash, Place, trial_key
from reports.ledger.json_files import as_recipe, read_whole
from reports.ledger.moments import Moment
from trainables.errors import UserError
from trainables.evaluation_config import Parts
from trainables.record_parts import Evaluated, Geometry, TaskScores, Trained, TrainingNumbers, TrialCost, TrialMachine
from trainables.typed_json import Count

LEFT_OUT = "left out: "
"""How the reason begins why a training ended that these data or this encoder do not go with."""
_WHAT = "a record of a finished trial"
Work = tuple[object, ...]
_COSTS_NO_TIME = frozenset(
    {
        *(f"optimisation.{name}" for name in ("learning_rate", "warmup", "schedule", "weight_decay", "clip_norm")),
        *(f"objective.{name}" for name in ("temperature", "margin", "weight")),
    }
)
"""Keys of a recipe. Where one is forgotten its trainings are just not held against those of others."""

EVALUATED = tuple(Evaluated.__annotations__)
"""What an evaluation reads, by what its description is called; the other descriptions are of what training read."""


@dataclass(frozen=True)
class Evaluation:
    """One way in which the trained model was scored: under one protocol, on one state of the data.

    A record has as many as there are: tests can be added later, and each is known by its tasks, protocol and data.
    """

    protocol: str
    """SentEval's protocol."""
    scores: dict[str, TaskScores]
    """By SentEval task: `scores["STS12"]["spearman_wmean"]`."""
    geometry: Geometry = field(default_factory=Geometry)
    data: Evaluated = field(default_factory=Evaluated)
    predictions: Place | None = None
    """The file of predictions, within the results folder."""
    parts: Parts = "all"
    """Of which parts of the tasks; of `development` there are development numbers alone, and nothing was tested."""
    finished_at: Literal[""] | Moment = ""

    @property
    def fingerprint(self) -> str | None:
        """Of the tasks' files; None where nobody noted it."""
        digest = self.data.get("senteval", {}).get("fingerprint")
        return None if digest is None else str(digest)

    @property
    def name(self) -> str:
        """Tells the evaluations of one trial apart, in names of files too: `full-0123abcd`."""
        text = json.dumps([self.fingerprint, sorted(self.scores)])
        part = "" if self.parts == "all" else f"{self.parts}-"
        return f"{self.protocol}-{part}{hashlib.sha256(text.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Scoring:
    """Which evaluations a study, or its report, takes."""

    protocol: str
    data: frozenset[str] = frozenset()
    """The fingerprints that its data has, one for each set of tasks; empty: any."""
    tasks: frozenset[str] = frozenset()
    """What must be scored for a trial to be done."""
    parts: Parts = "all"
    """Of these tasks."""

    def takes(self, evaluation: Evaluation) -> bool:
        """Whether it is of the same protocol, and of the same data as far as that is known."""
        comparable = evaluation.fingerprint is not None and self.data
        return evaluation.protocol == self.protocol and (not comparable or evaluation.fingerprint in self.data)


@dataclass(frozen=True)
class Record:
    """A recipe, a seed, what training measured and cost, what it ran on, and every evaluation of the trained model. A
    missing number is None.

    Averages over tasks and what a search maximises are not stored: they are functions of the scores
    (`search_spaces.averages`, `search_spaces.goals`).
    """

    recipe: dict[str, Any]
    """Flat: every key that it has."""
    recipe_hash: Hash
    seed: Count
    status: Literal["finished", "pruned"] = "finished"
    """`pruned`: stopped early, by a scheduler or because its loss was no number any more, or left out (`unsuited`); it
    has no evaluations."""
    evaluations: list[Evaluation] = field(default_factory=list)
    """In the order in which they were made."""
    training: TrainingNumbers = field(default_factory=TrainingNumbers)
    cost: TrialCost = field(default_factory=TrialCost)
    versions: dict[str, str] = field(default_factory=dict)
    """Of Python and packages; of this project's code and of plugins a digest."""
    hardware: str = ""
    """One line for the report: all of the cluster."""
    machine: TrialMachine = field(default_factory=TrialMachine)
    """Older records lack it."""
    data: Trained = field(default_factory=Trained)
    checkpoint: Place | None = None
    """The folder of the trained model, within the results folder."""
    finished_at: Literal[""] | Moment = ""
    schema: int = SCHEMA
    """That of the results folder (`reports.ledger.folders`)."""

    @property
    def unsuited(self) -> str:
        """The setting that these data, or this encoder, do not go with, and why; empty where they do."""
        stopped = self.training.get("stopped") or ""
        return stopped.removeprefix(LEFT_OUT) if stopped.startswith(LEFT_OUT) else ""

    @cached_property
    def scores(self) -> dict[str, dict[str, Any]]:
        """Of all evaluations; a task that was scored twice has the later numbers, or those of all its parts."""
        order = sorted(self.evaluations, key=lambda evaluation: evaluation.parts == "all")
        return {task: {**numbers} for evaluation in order for task, numbers in evaluation.scores.items()}

    @property
    def geometry(self) -> Geometry:
        """The latest that was measured."""
        return next(
            (evaluation.geometry for evaluation in reversed(self.evaluations) if evaluation.geometry), Geometry()
        )

    @property
    def tested(self) -> bool:
        """Whether test parts were scored, too."""
        return any(evaluation.parts == "all" for evaluation in self.evaluations)

    @property
    def protocol(self) -> str:
        """Of the latest evaluation; empty without any."""
        return self.evaluations[-1].protocol if self.evaluations else ""

    @property
    def read(self) -> dict[str, Any]:
        """What training and evaluations read."""
        sources: dict[str, Any] = {**self.data}
        for evaluation in self.evaluations:
            both = {**sources.get("overlap", {}), **evaluation.data.get("overlap", {})}
            sources |= {**evaluation.data, **({"overlap": both} if both else {})}
        return sources

    def fingerprint(self, kind: str) -> str | None:
        """Of what it read: `corpus`, `senteval`, `encoder`; None where nobody noted it."""
        return self.read.get(kind, {}).get("fingerprint") or None

    @property
    def predictions(self) -> list[str]:
        """The files of predictions, within the results folder."""
        return [evaluation.predictions for evaluation in self.evaluations if evaluation.predictions]

    def under(self, scoring: Scoring) -> Record:
        """With those evaluations alone that are asked for."""
        return dataclasses.replace(
            self, evaluations=[evaluation for evaluation in self.evaluations if scoring.takes(evaluation)]
        )

    def done(self, scoring: Scoring) -> bool:
        """Whether nothing that is asked for is left to do."""
        own = [
            evaluation for evaluation in self.under(scoring).evaluations if evaluation.parts in ("all", scoring.parts)
        ]
        return self.status == "pruned" or {task for evaluation in own for task in evaluation.scores} >= scoring.tasks

    def beside(self, before: Record | None) -> Record:
        """With the evaluations of the same trial from before, but for those that are made anew."""
        names = {evaluation.name for evaluation in self.evaluations}
        others = [evaluation for evaluation in before.evaluations if evaluation.name not in names] if before else []
        return dataclasses.replace(self, evaluations=[*others, *self.evaluations])

    @property
    def ran_on(self) -> str:
        """The machine in a few words, `no GPU, Xeon`; its cluster where it is unknown, empty where that is too."""
        if self.machine:
            return f"{self.machine.get('device') or 'no GPU'}, {self.machine.get('processor')}"
        return self.hardware

    @cached_property
    def work(self) -> Work:
        """What the training did, and where: recipes that differ only in what costs no time do the same work. Such
        trainings take as long, but for what else the machine did at the time."""
        recipe = repr([(key, value) for key, value in sorted(self.recipe.items()) if key not in _COSTS_NO_TIME])
        places = self.ran_on, self.cost.get("workers"), self.cost.get("threads"), self.training.get("population")
        return recipe, self.training.get("steps"), *places

    @property
    def key(self) -> str:
        """Names the trial's files."""
        return trial_key(self.recipe_hash, self.seed)

    @property
    def judged(self) -> bool:
        """Whether a scheduler let it go on, or not, by its scores."""
        return bool(self.training.get("rungs"))


def mean_measured(records: Iterable[Record], name: str) -> float | None:
    """A number of `Record.training`, such as `steps`, over the records that measured it; None where none did."""
    numbers = [record.training.get(name) for record in records]
    values = [value for value in numbers if isinstance(value, int | float)]
    return fmean(values) if values else None


def seconds_of(record: Record, name: str) -> float | None:
    """A number of its cost."""
    value = record.cost.get(name)
    return float(value) if isinstance(value, int | float) else None


def seconds_trained(record: Record) -> float | None:
    """Seconds of a training's steps, without what prepares it; of an older record with it."""
    seconds = record.training.get("seconds") or record.cost.get("train_seconds")
    return float(seconds) if isinstance(seconds, int | float) else None


def by_work(records: Iterable[Record]) -> dict[Work, dict[str, float]]:
    """By their work and key, the seconds of trainings; without those that were not measured."""
    groups: dict[Work, dict[str, float]] = {}
    for record in records:
        if seconds := seconds_trained(record):
            groups.setdefault(record.work, {})[record.key] = seconds
    return groups


def training_seconds(records: Iterable[Record]) -> dict[str, float]:
    """By its key, what each of these trainings takes on a machine that does nothing else: as long as the shortest of
    the same work."""
    return {key: min(own.values()) for own in by_work(records).values() for key in own}


def read_record(path: Path) -> Record:
    """A record from its file; `UserError` that names the file, and the field, where it is none.

    Fields that it does not know are passed over: a plugin's tools may write some.
    """
    record = read_whole(Record, path, _WHAT)
    if path.stem != record.key:
        raise UserError(f"{path} is not {_WHAT} (it holds the trial {record.key})")
    return dataclasses.replace(record, recipe=as_recipe(record.recipe))
