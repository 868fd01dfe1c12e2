"""Score a trial on a CPU in a Ray task, so that its GPU can train the next trial."""

from __future__ import annotations

import ray
from ray import ObjectRef

from study.engine.messages import Scored
from study.engine.records import HandedTrial


@ray.remote(num_cpus=1, max_retries=3)
def score_apart(trial_reference: list[ObjectRef[HandedTrial]]) -> Scored:
    """Score a trial that its worker handed over, and return its event. Ray repeats this call if its machine dies."""
    import torch

    from trainables.trial.save_and_score import score

    torch.set_num_threads(1)
    handed = ray.get(trial_reference[0])
    for source in handed.run.sources:
        source.run()
    return handed.run.scored(score(handed.unscored))
