"""From what a trial gives back to its record, and to what is sent to the study's process."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reports.ledger import EVALUATED, MODELS, PREDICTIONS, Evaluation, Record
from reports.ledger.moments import now
from study.engine.messages import Scored
from study.results_folder.versions import versions
from study.trial import SourceFile, Trial
from trainables.trial import TrialResult


def record_of(
    trial: Trial,
    sources: Sequence[SourceFile],
    result: TrialResult,
    spent: Mapping[str, float],
    machine: Any,
    model: bool,
) -> Record:
    """`sources`: those that ran before it. `spent`: the seconds of its worker group since the trial before, by what
    they were spent on. `machine`: what its first worker computed on (`trainables.machine`). `model`: whether its model
    was saved."""
    told: Any = result  # in plain dictionaries; `reports.ledger.record_parts` says what they hold, and readers check it
    evaluated: Any = {name: said for name, said in result.data.items() if name in EVALUATED}
    trained: Any = {name: said for name, said in result.data.items() if name not in EVALUATED}
    at = now()
    evaluation = Evaluation(
        protocol=trial.evaluation.protocol,
        scores=told.scores,
        geometry=told.geometry,
        data=evaluated,
        parts=trial.evaluation.parts,
        finished_at=at,
    )
    if result.predictions:
        name = f"{PREDICTIONS}/{trial.key}-{evaluation.name}.npz"
        evaluation = dataclasses.replace(evaluation, predictions=name)
    return Record(
        recipe=trial.recipe.flat(),
        recipe_hash=trial.recipe_hash,
        seed=trial.seed,
        status="pruned" if result.stopped else "finished",
        evaluations=[] if result.stopped else [evaluation],
        training={**told.training, "stopped": result.stopped},
        cost={**told.cost, "crew": dict(spent)},
        versions=versions(sources),
        hardware=trial.resources.hardware,
        machine=machine,
        data=trained,
        checkpoint=f"{MODELS}/{trial.key}" if model else None,
        finished_at=at,
    )


def scored(record: Record, result: TrialResult) -> Scored:
    """The event that brings a record to the study, with its arrays as the bytes of their file, and the model's
    README."""
    predictions = None
    if result.predictions:
        content = io.BytesIO()
        np.savez_compressed(content, **result.predictions)  # type: ignore[arg-type]
        predictions = content.getvalue()
    return Scored(record.key, record, predictions, result.card if record.checkpoint else None)
