"""A task that does nothing, for measuring what the engine itself costs."""

from __future__ import annotations

from reports.ledger import Record
from study.engine.messages import Scored, Task
from study.engine.worker_group import Worker


def perform(task: Task, me: Worker) -> None:
    """Tell an empty record of every trial, and be done."""
    tell(task, me)
    me.finish(task)


def tell(task: Task, me: Worker) -> None:
    """Tell an empty record of every trial."""
    for trial in task.trials():
        spent, protocol = {"crew": me.timesheet.take()}, trial.recipe.evaluation.protocol
        record = Record(trial.recipe.flat(), trial.recipe_hash, trial.seed, protocol=protocol, cost=spent)
        me.tell(Scored(trial.key, record, None, None))
