"""Scores of a trial whose GPU has gone on to the next: its heads are fitted by a Ray task on a CPU."""

from __future__ import annotations

from typing import Any

import ray

from study.trial import recipes_of


@ray.remote(num_cpus=1, max_retries=3)
def score_apart(content: list[Any]) -> dict[str, Any]:
    """What `study.engine.records.told` makes of a trial that its crew handed over. Tried again where a machine dies."""
    import torch

    from study.engine.records import record_of, told
    from trainables.trial.save_and_score import score

    torch.set_num_threads(1)
    trial, unscored, crew, machine, model = ray.get(content[0])
    (recipe,) = recipes_of([trial])
    result = score(unscored)
    return told(record_of(trial, recipe, result, crew, machine, model), result)
