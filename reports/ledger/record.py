"""The record of one trial: a file of the ledger."""

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

from reports.ledger.folders import SCHEMA, Hash, InnerPath, trial_key
from reports.ledger.json_files import as_recipe, read_whole
from reports.ledger.moments import Moment
from trainables.errors import UserError
from trainables.evaluation_config import Parts
from trainables.record_parts import Evaluated, Geometry, TaskScores, Trained, TrainingNumbers, TrialCost, TrialMachine
from trainables.typed_json import Count

LEFT_OUT = "left out: "
"""Prefix of the reason why a training ended because its recipe does not suit the data or the encoder."""
_WHAT = "a record of a finished trial"
Work = tuple[object, ...]
_COSTS_NO_TIME = frozenset(
    {
        *(f"optimisation.{name}" for name in ("learning_rate", "warmup", "schedule", "weight_decay", "clip_norm")),
        *(f"objective.{name}" for name in ("temperature", "margin", "weight")),
    }
)
"""Recipe keys that do not change how long a training takes. If one is missing here, fewer trainings are compared."""

EVALUATED = tuple(Evaluated.__annotations__)
"""Names of the data descriptions that belong to evaluations. All other descriptions are of data that training read."""


@dataclass(frozen=True)
class Evaluation:
    """One way in which a trained model was scored: under one protocol, on one state of the data.

    A record may have several: tests can be added later. An evaluation is identified by its tasks, protocol and data.
    """

    protocol: str
    """Name of SentEval's protocol under which the model was scored."""
    scores: dict[str, TaskScores]
    """Scores by task and measure: `scores["STS12"]["spearman_wmean"]`."""
    geometry: Geometry = field(default_factory=Geometry)
    data: Evaluated = field(default_factory=Evaluated)
    predictions: InnerPath | None = None
    """Path of the file of predictions, within the results folder."""
    parts: Parts = "all"
    """Splits that were scored. `development`: only development scores, so nothing was tested."""
    finished_at: Literal[""] | Moment = ""

    @property
    def fingerprint(self) -> str | None:
        """Fingerprint of the evaluation data; None if it was not recorded."""
        digest = self.data.get("senteval", {}).get("fingerprint")
        return None if digest is None else str(digest)

    @property
    def name(self) -> str:
        """Unique name among the evaluations of one trial, also used in file names: `full-0123abcd`."""
        text = json.dumps([self.fingerprint, sorted(self.scores)])
        part = "" if self.parts == "all" else f"{self.parts}-"
        return f"{self.protocol}-{part}{hashlib.sha256(text.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Scoring:
    """The evaluations that a study or its report accepts."""

    protocol: str
    data: frozenset[str] = frozenset()
    """Accepted fingerprints of the evaluation's data, one for each set of tasks. If empty, all are accepted."""
    tasks: frozenset[str] = frozenset()
    """Tasks that must be scored before a trial is done."""
    parts: Parts = "all"
    """Splits of these tasks that must be scored."""

    def accepts(self, evaluation: Evaluation) -> bool:
        """Return whether an evaluation has the accepted protocol and, if its fingerprint is known, accepted data."""
        comparable = evaluation.fingerprint is not None and self.data
        return evaluation.protocol == self.protocol and (not comparable or evaluation.fingerprint in self.data)


@dataclass(frozen=True)
class Record:
    """A trial's recipe and seed; numbers, cost and machine of its training; every evaluation of its model.

    Missing numbers are None. Averages over tasks and the goals of a search are not stored, because they are computed
    from the scores (`search_spaces.averages`, `search_spaces.goals`).
    """

    recipe: dict[str, Any]
    """The flat recipe, with all of its keys."""
    recipe_hash: Hash
    seed: Count
    status: Literal["finished", "pruned"] = "finished"
    """`pruned`: the training was ended without evaluations. A scheduler stopped it, its loss was no longer a number, or
    the recipe was left out (`unsuited`)."""
    evaluations: list[Evaluation] = field(default_factory=list)
    """All evaluations, in the order in which they were made."""
    training: TrainingNumbers = field(default_factory=TrainingNumbers)
    cost: TrialCost = field(default_factory=TrialCost)
    versions: dict[str, str] = field(default_factory=dict)
    """Versions of Python and packages, and digests of the project's code and plugins, by name."""
    hardware: str = ""
    """Description of the whole cluster, one line for the report."""
    machine: TrialMachine = field(default_factory=TrialMachine)
    """Description of the machine that ran the trial; empty in older records."""
    data: Trained = field(default_factory=Trained)
    checkpoint: InnerPath | None = None
    """Path of the folder of the trained model, within the results folder."""
    finished_at: Literal[""] | Moment = ""
    schema: int = SCHEMA
    """The schema of the results folder (`reports.ledger.folders`)."""

    @property
    def unsuited(self) -> str:
        """The setting that does not suit the data or the encoder, and why; empty if all settings do."""
        stopped = self.training.get("stopped") or ""
        return stopped.removeprefix(LEFT_OUT) if stopped.startswith(LEFT_OUT) else ""

    @cached_property
    def scores(self) -> dict[str, dict[str, Any]]:
        """Maps each task to its latest scores. An evaluation of all splits counts before one of development alone."""
        order = sorted(self.evaluations, key=lambda evaluation: evaluation.parts == "all")
        return {task: {**numbers} for evaluation in order for task, numbers in evaluation.scores.items()}

    @property
    def geometry(self) -> Geometry:
        """The geometry of the embeddings, from the latest evaluation that measured it."""
        return next(
            (evaluation.geometry for evaluation in reversed(self.evaluations) if evaluation.geometry), Geometry()
        )

    @property
    def tested(self) -> bool:
        """Whether test splits were scored."""
        return any(evaluation.parts == "all" for evaluation in self.evaluations)

    @property
    def protocol(self) -> str:
        """The protocol of the latest evaluation; empty if there is no evaluation."""
        return self.evaluations[-1].protocol if self.evaluations else ""

    @property
    def data_read(self) -> dict[str, Any]:
        """Descriptions of all data that training and evaluations read."""
        sources: dict[str, Any] = {**self.data}
        for evaluation in self.evaluations:
            both = {**sources.get("overlap", {}), **evaluation.data.get("overlap", {})}
            sources |= {**evaluation.data, **({"overlap": both} if both else {})}
        return sources

    def fingerprint(self, kind: str) -> str | None:
        """Return the fingerprint of the data `kind`: `corpus`, `senteval` or `encoder`. None if it was not recorded."""
        return self.data_read.get(kind, {}).get("fingerprint") or None

    @property
    def predictions(self) -> list[str]:
        """Paths of the files of predictions, within the results folder."""
        return [evaluation.predictions for evaluation in self.evaluations if evaluation.predictions]

    def filter_evaluations(self, scoring: Scoring) -> Record:
        """Return the record with only those of its evaluations that `scoring` accepts."""
        return dataclasses.replace(
            self, evaluations=[evaluation for evaluation in self.evaluations if scoring.accepts(evaluation)]
        )

    def done(self, scoring: Scoring) -> bool:
        """Return whether the trial has all evaluations that `scoring` requires. A pruned trial needs none."""
        own = [
            evaluation
            for evaluation in self.filter_evaluations(scoring).evaluations
            if evaluation.parts in ("all", scoring.parts)
        ]
        return self.status == "pruned" or {task for evaluation in own for task in evaluation.scores} >= scoring.tasks

    def with_earlier_evaluations(self, before: Record | None) -> Record:
        """Return the record with the evaluations of `before`, its earlier version, except those since made again."""
        names = {evaluation.name for evaluation in self.evaluations}
        others = [evaluation for evaluation in before.evaluations if evaluation.name not in names] if before else []
        return dataclasses.replace(self, evaluations=[*others, *self.evaluations])

    @property
    def ran_on(self) -> str:
        """The machine in a few words: `no GPU, Xeon`. If unknown, the cluster; empty if that is unknown as well."""
        if self.machine:
            return f"{self.machine.get('device') or 'no GPU'}, {self.machine.get('processor')}"
        return self.hardware

    @cached_property
    def work(self) -> Work:
        """Identifies what the training computed, and where. Recipes that differ only in keys of `_COSTS_NO_TIME` have
        the same work. Trainings of the same work take equally long, except for other load on the machine."""
        recipe = repr([(key, value) for key, value in sorted(self.recipe.items()) if key not in _COSTS_NO_TIME])
        conditions = self.ran_on, self.cost.get("workers"), self.cost.get("threads"), self.training.get("population")
        return recipe, self.training.get("steps"), *conditions

    @property
    def key(self) -> str:
        """The trial's key, which is part of the names of its files."""
        return trial_key(self.recipe_hash, self.seed)

    @property
    def judged_at_rung(self) -> bool:
        """Whether a scheduler judged the trial at a rung."""
        return bool(self.training.get("rungs"))


def mean_measured(records: Iterable[Record], name: str) -> float | None:
    """Return the mean of a number in `Record.training`, such as `steps`, over the records that have it, if any has."""
    numbers = [record.training.get(name) for record in records]
    values = [value for value in numbers if isinstance(value, int | float)]
    return fmean(values) if values else None


def seconds_of(record: Record, name: str) -> float | None:
    """Return a number of seconds from the record's cost; None if it is missing."""
    value = record.cost.get(name)
    return float(value) if isinstance(value, int | float) else None


def seconds_trained(record: Record) -> float | None:
    """Return the seconds of the training steps, without their preparation; older records include the preparation."""
    seconds = record.training.get("seconds") or record.cost.get("train_seconds")
    return float(seconds) if isinstance(seconds, int | float) else None


def seconds_by_work(records: Iterable[Record]) -> dict[Work, dict[str, float]]:
    """Map each work to the training seconds of its trials, by trial key. Trainings without a time are left out."""
    groups: dict[Work, dict[str, float]] = {}
    for record in records:
        if seconds := seconds_trained(record):
            groups.setdefault(record.work, {})[record.key] = seconds
    return groups


def training_seconds(records: Iterable[Record]) -> dict[str, float]:
    """Map each trial key to the time that its training takes on an otherwise idle machine: the shortest time of all
    trainings with the same work."""
    return {key: min(own.values()) for own in seconds_by_work(records).values() for key in own}


def read_record(path: Path) -> Record:
    """Read a record from its file. Raise `UserError` that names the file and the field if it is malformed.

    Unknown fields are skipped: tools of plugins may write some.
    """
    record = read_whole(Record, path, _WHAT)
    if path.stem != record.key:
        raise UserError(f"{path} is not {_WHAT} (it holds the trial {record.key})")
    return dataclasses.replace(record, recipe=as_recipe(record.recipe))
