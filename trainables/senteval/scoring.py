"""Score embeddings: a task's scores by its kind, and the anisotropy of all embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from trainables.evaluation_config import Parts
from trainables.lazy_torch import torch
from trainables.record_parts import Geometry
from trainables.senteval.embedded import Embedded, Lookup
from trainables.senteval.examples import TaskData
from trainables.senteval.kinds import KINDS
from trainables.senteval.kinds.contract import KindScores, Numbers
from trainables.senteval.protocol import Protocol
from trainables.senteval.tasks import GROUPS

if TYPE_CHECKING:
    from torch import Tensor

PREFERRED_TASK = "STSBenchmark"
"""The task whose sentences `geometry` uses; if it is missing, `geometry` uses those of the present STS tasks."""


def geometry(read: Mapping[str, TaskData], embeddings: Tensor, lookup: Lookup) -> Geometry:
    """Return the anisotropy, the mean cosine of two distinct STS sentences; {} without an STS task, None for fewer than
    two sentences. Zero embeddings are left out."""
    names = [PREFERRED_TASK] if PREFERRED_TASK in read else [name for name in GROUPS["sts"] if name in read]
    if not names:
        return {}
    splits = [split for name in names for split in read[name].splits.values()]
    texts = dict.fromkeys(text for split in splits for side in (split.left, split.right or []) for text in side)
    unit = torch.nn.functional.normalize(embeddings[lookup(list(texts))], dim=1)
    count = int(unit.any(dim=1).sum())
    if count < 2:
        return {"anisotropy": None}
    together = float(unit.sum(dim=0, dtype=torch.float64).square().sum())
    return {"anisotropy": (together - count) / (count * (count - 1))}


def score_task(given: Embedded, protocol: Protocol, seed: int, parts: Parts = "all") -> tuple[Numbers, KindScores]:
    """Return the task's scores with `examples`, and the result of its kind. For `development`, answers and scores of a
    test split are removed, even if the kind had to score it.

    The task's own settings of a fit override the protocol's.
    """
    task, kind = given.task, KINDS[given.task.kind]
    fit = replace(
        protocol.fit,
        epoch_size=task.epoch_size or protocol.fit.epoch_size,
        max_epochs=task.max_epochs or protocol.fit.max_epochs,
    )
    without_test = parts == "development" or ("test" in kind.splits and "test" not in kind.splits_of(task))
    score = kind.score_without_test if without_test else kind.score
    scores = score(given, replace(protocol, fit=fit, decays=task.decays or protocol.decays), seed)
    if parts == "development":
        scores = replace(scores, answers=tuple(answers for answers in scores.answers if answers.split == "dev"))
    values: dict[str, float | None] = dict(scores.fitted)
    for answers in scores.answers:
        values.update(kind.numbers(task, answers, protocol))
    names = [name for name in kind.numbers_of(task) if parts == "all" or (name.startswith("dev_") and name in values)]
    return {**{name: values[name] for name in names}, "examples": scores.examples}, scores
