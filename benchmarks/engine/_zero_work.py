"""A task that does nothing, for measuring what the engine itself costs."""

from __future__ import annotations

from typing import Any

from reports.ledger import Evaluation, Record
from study.engine.messages import Scored, WorkerTask
from study.engine.worker_group import Worker
from trainables.senteval import task_names


def perform(task: WorkerTask, me: Worker) -> None:
    """Tell an empty record of every trial, and be done."""
    tell(task, me)
    me.finish(task)


def tell(task: WorkerTask, me: Worker) -> None:
    """Tell an empty record of every trial."""
    for trial in task.trials:
        scores: dict[str, Any] = {task: {} for task in task_names(trial.evaluation.tasks)}
        record = Record(
            trial.recipe.flat(),
            trial.recipe_hash,
            trial.seed,
            evaluations=[Evaluation(trial.evaluation.protocol, scores)],
            cost={"crew": me.timesheet.take()},
        )
        me.tell(Scored(trial.key, record, None, None))
