"""From what a trial gives back to its record, and to what is sent to the study's process."""

from __future__ import annotations

import dataclasses
import datetime
import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from reports.ledger import EVALUATED, MODELS, PREDICTIONS, Evaluation, Record
from study.results_folder.versions import versions
from study.trial import TrialSpec
from trainables.recipe import Recipe
from trainables.trial import TrialResult


def record_of(
    trial: TrialSpec,
    recipe: Recipe,
    result: TrialResult,
    crew: Mapping[str, float],
    machine: Mapping[str, str | bool | None],
    model: bool,
) -> Record:
    """`crew`: the seconds of the trial's crew since the one before. `machine`: what its first worker computed on
    (`trainables.machine`). `model`: whether its model was saved."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    evaluation = Evaluation(
        protocol=str(trial.evaluation["evaluation.protocol"]),
        scores=result.scores,
        geometry=result.geometry,
        data={name: said for name, said in result.data.items() if name in EVALUATED},
        finished_at=now,
    )
    if result.predictions:
        name = f"{PREDICTIONS}/{trial.key}-{evaluation.name}.npz"
        evaluation = dataclasses.replace(evaluation, predictions=name)
    return Record(
        recipe=recipe.flat(),
        recipe_hash=recipe.hash,
        seed=trial.seed,
        status="pruned" if result.stopped else "finished",
        evaluations=[] if result.stopped else [evaluation],
        training={**result.training, "stopped": result.stopped},
        cost={**result.cost, "crew": dict(crew)},
        versions=versions(trial.sources),
        hardware=trial.hardware,
        machine=dict(machine),
        data={name: said for name, said in result.data.items() if name not in EVALUATED},
        checkpoint=f"{MODELS}/{trial.key}" if model else None,
        finished_at=now,
    )


def told(record: Record, result: TrialResult) -> dict[str, Any]:
    """The message that brings a record to the study: plain values, its arrays as the bytes of their file, and the
    model's README."""
    predictions = None
    if result.predictions:
        content = io.BytesIO()
        np.savez_compressed(content, **result.predictions)  # type: ignore[arg-type]
        predictions = content.getvalue()
    return {
        "key": record.key,
        "record": record,
        "predictions": predictions,
        "card": result.card if record.checkpoint else None,
    }
