"""The score of `optimisation.keep_by`, by which weights are kept, as a measure during training."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trainables.errors import UserError, shown
from trainables.sections import KEEP_BY_KEY
from trainables.senteval.tasks import TASKS
from trainables.training.rungs import Measure


def keeping_measure(texts: Sequence[str]) -> Measure:
    """Return the weighted mean of tasks as a measure. A text is `TASK`, `TASK*WEIGHT`, or `TASK.NUMBER` from a goal.
    Raises `UserError` for an unknown task, and for a number that is not available during training."""
    if not texts:
        raise UserError(f"{KEEP_BY_KEY} names no task; take one or several, as in {KEEP_BY_KEY}=STSBenchmark")
    return Measure(KEEP_BY_KEY, parts=tuple(map(_part, texts)))


def _part(text: str) -> tuple[Measure, float]:
    named, star, number = text.partition("*")
    task, dot, of_task = named.partition(".")
    try:
        metric, weight = TASKS[task].development, float(number) if star else 1.0
    except UserError as error:
        raise UserError(f"{KEEP_BY_KEY}: {error}") from None
    except ValueError:
        weight = math.nan
    if not 0 < weight < math.inf:
        raise UserError(f"{KEEP_BY_KEY}: {shown(text)} needs a number above 0 behind the star, as in {named}*2")
    if not metric or (dot and of_task != metric):
        why = f"of {task} that is {metric} alone; take {task}" if metric else f"{task} has none; take another task"
        raise UserError(f"{KEEP_BY_KEY}: {named} is no development number that a training knows as it goes on: {why}")
    return Measure(task, (task,), metric), weight
