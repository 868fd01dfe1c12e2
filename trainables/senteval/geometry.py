"""Whether a model's embeddings look into all directions: their anisotropy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from trainables.lazy_torch import torch
from trainables.record_parts import Geometry
from trainables.senteval.embedded import Lookup
from trainables.senteval.examples import TaskData
from trainables.senteval.tasks import GROUPS

if TYPE_CHECKING:
    from torch import Tensor

FIRST = "STSBenchmark"
"""The task whose sentences are taken; where it is missing, those of the STS tasks that are there."""


def geometry(read: Mapping[str, TaskData], embeddings: Tensor, lookup: Lookup) -> Geometry:
    """The mean cosine of two distinct STS sentences; empty without an STS task, and None for fewer than two sentences.
    Zero embeddings are left out."""
    names = [FIRST] if FIRST in read else [name for name in GROUPS["sts"] if name in read]
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
