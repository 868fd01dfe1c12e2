"""From what a trial gives back to its record, and to what is sent to the study's process."""

from __future__ import annotations

import datetime
import io
from collections.abc import Mapping, Sequence

import numpy as np

from reports.ledger import MODELS, PREDICTIONS, Record
from study.engine.messages import Scored
from study.results_folder.versions import versions
from study.trial import SourceFile, Trial
from trainables.trial import TrialResult


def record_of(
    trial: Trial,
    sources: Sequence[SourceFile],
    result: TrialResult,
    spent: Mapping[str, float],
    machine: Mapping[str, str | bool | None],
    model: bool,
) -> Record:
    """`sources`: those that ran before it. `spent`: the seconds of its worker group since the trial before, by what
    they were spent on. `machine`: what its first worker computed on (`trainables.machine`). `model`: whether its model
    was saved."""
    recipe = trial.recipe
    return Record(
        recipe=recipe.flat(),
        recipe_hash=trial.recipe_hash,
        seed=trial.seed,
        status="pruned" if result.stopped else "finished",
        scores=result.scores,
        protocol=recipe.evaluation.protocol,
        geometry=result.geometry,
        training={**result.training, "stopped": result.stopped},
        cost={**result.cost, "crew": dict(spent)},
        versions=versions(sources),
        hardware=trial.resources.hardware,
        machine=dict(machine),
        data=result.data,
        checkpoint=f"{MODELS}/{trial.key}" if model else None,
        predictions=f"{PREDICTIONS}/{trial.key}.npz" if result.predictions else None,
        finished_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
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
