"""Scores of a trial whose GPU has gone on to the next: its heads are fitted by a Ray task on a CPU."""

from __future__ import annotations

from typing import Any

import ray

from study.engine.messages import Scored
from study.engine.records import record_of, scored


@ray.remote(num_cpus=1, max_retries=3)
def score_apart(content: list[Any]) -> Scored:
    """The event of a trial that its worker handed over. Tried again where a machine dies."""
    import torch

    from trainables.trial.save_and_score import score

    torch.set_num_threads(1)
    task, key, unscored, *more = ray.get(content[0])
    (trial,) = (trial for trial in task.trials() if trial.key == key)
    result = score(unscored)
    return scored(record_of(trial, task.sources, result, *more), result)
