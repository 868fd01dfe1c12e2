"""Make a trial's record from its result, and the event that brings the record to the study's process."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from reports.ledger import MODELS, PREDICTIONS, Evaluation, Record
from reports.ledger.moments import now
from study.engine.messages import Scored
from study.results_folder.versions import versions
from study.trial import SourceFile, Trial
from trainables.record_parts import TrialMachine
from trainables.trial import TrialResult, Unscored


@dataclass(frozen=True)
class TrialRun:
    """All that a record needs besides the trial's result."""

    trial: Trial
    sources: tuple[SourceFile, ...]
    """Source files that ran before the trial."""
    spent: Mapping[str, float]
    """Seconds that the worker group has spent since its trial before this one, by activity."""
    machine: TrialMachine
    """The machine of the first worker."""
    saved: bool

    def scored(self, result: TrialResult) -> Scored:
        """Return the event that brings the record to the study. The arrays travel as the bytes of their file."""
        predictions = None
        if result.predictions:
            content = io.BytesIO()
            np.savez_compressed(content, **result.predictions)  # type: ignore[arg-type]
            predictions = content.getvalue()
        record = self._record(result)
        return Scored(record.key, record, predictions, result.card if self.saved else None)

    def _record(self, result: TrialResult) -> Record:
        trial, finished_at = self.trial, now()
        return Record(
            recipe=trial.recipe.flat(),
            recipe_hash=trial.recipe_hash,
            seed=trial.seed,
            status="pruned" if result.stopped else "finished",
            evaluations=[] if result.stopped else [self._evaluation(result, finished_at)],
            training={**result.training, "stopped": result.stopped},
            cost={**result.cost, "crew": dict(self.spent)},
            versions=versions(self.sources),
            hardware=trial.resources.hardware,
            machine=self.machine,
            data=result.data,
            checkpoint=f"{MODELS}/{trial.key}" if self.saved else None,
            finished_at=finished_at,
        )

    def _evaluation(self, result: TrialResult, finished_at: str) -> Evaluation:
        config = self.trial.evaluation
        evaluation = Evaluation(
            protocol=config.protocol,
            scores=result.scores,
            geometry=result.geometry,
            data=result.evaluated,
            parts=config.parts,
            finished_at=finished_at,
        )
        if not result.predictions:
            return evaluation
        return replace(evaluation, predictions=f"{PREDICTIONS}/{self.trial.key}-{evaluation.name}.npz")


@dataclass(frozen=True)
class HandedTrial:
    """A trained trial that is scored by another process than its worker."""

    run: TrialRun
    unscored: Unscored
