"""Trainings whose hard negatives are mined anew, of a small encoder on a small corpus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tests import gloo_worker
from tests.conftest import pairs_of
from tests.gloo_worker import Scored, drawn_model
from trainables.corpora.batch import Sampler
from trainables.corpora.mining import Mining, RenewedSampler, mined_table
from trainables.corpora.nli import NLIPairs
from trainables.corpora.samplers import GroupSampler
from trainables.labels import ENTAILMENT
from trainables.recipe import Recipe
from trainables.training.distributed import Workers
from trainables.training.loop import Watcher
from trainables.training.model import StudyModel

EACH = 2
RULES = Mining(mined_depth=8, mined_margin=-3.0)  # whatever the positive scores, the nearest
NONE = replace(RULES, mined_min_score=1.0, mined_max_score=-1.0)
CHANGES = {
    "corpus.layout": "groups",
    "objective.name": "mnrl",
    "objective.temperature": 0.1,
    "optimisation.learning_rate": 0.05,
}


def corpus() -> NLIPairs:
    """16 anchors with one or two entailed sentences, some of them anchors themselves: three steps of 5."""
    chance = np.random.default_rng(3)
    texts = [" ".join("x" * n for n in chance.integers(1, 30, size=chance.integers(3, 7))) for _ in range(40)]
    anchors, others = texts[:16], [*texts[16:], texts[2], texts[9]]
    rows = [(anchor, others[(i + 5 * k) % len(others)], ENTAILMENT)
            for i, anchor in enumerate(anchors) for k in range(1 + i % 2)]  # fmt: skip
    return replace(pairs_of(rows), file=np.zeros(len(rows), dtype=np.int16))


def model() -> StudyModel:
    return drawn_model(Recipe().preferring(CHANGES), Scored())


def groups(pairs: NLIPairs) -> GroupSampler:
    return GroupSampler(pairs, 5, 7, 1, EACH)


def sampler(every: int, rules: Mining = RULES) -> RenewedSampler:
    """It starts with what the encoder finds before it is trained."""
    pairs = corpus()
    table = mined_table(pairs, model().encoder.encode, RULES, EACH)
    return RenewedSampler(pairs, table, rules, every, groups)


def twelve_steps(
    workers: Workers, sampler: Sampler, watcher: Watcher | None = None, resume: Path | None = None
) -> dict[str, Any]:
    answers = gloo_worker.twelve_steps(workers, Scored(), CHANGES, watcher, resume, sampler)
    return answers | {"mined": answers["sums"].pop("mining_seconds", None) is not None}
