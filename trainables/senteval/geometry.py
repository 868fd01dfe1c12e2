"""How a model's embeddings lie on the sphere: alignment, uniformity (Wang and Isola 2020) and anisotropy."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from trainables.record_parts import Geometry
from trainables.senteval.embedded import Lookup
from trainables.senteval.examples import TaskData
from trainables.senteval.tasks import GROUPS

FIRST = "STSBenchmark"
"""The task whose sentences are taken, as SimCSE does; where it is missing, those of the STS tasks that are there."""
SIMILAR = 4.0
"""From this score on the two sentences of a pair should lie close together."""
_ROWS_AT_ONCE = 256


def geometry(read: Mapping[str, TaskData], embeddings: Tensor, lookup: Lookup) -> Geometry:
    """How the embeddings of STS sentences lie, scaled to length one; empty without an STS task.

    `alignment`: mean squared distance of pairs with a gold score of 4 or more, None without such; 0 is best.
    `uniformity`: log of the mean of exp(-2 d^2) over pairs of distinct sentences; the lower the more even.
    `anisotropy`: their mean cosine. `sentences`: the tasks that they are of. Zero embeddings are left out.
    """
    names = [FIRST] if FIRST in read else [name for name in GROUPS["sts"] if name in read]
    if not names:
        return {}
    splits = [split for name in names for split in read[name].splits.values()]
    texts = dict.fromkeys(text for split in splits for side in (split.left, split.right or []) for text in side)
    near = [(split, (split.labels >= SIMILAR).nonzero()[0].tolist()) for split in splits]
    left = [split.left[item] for split, items in near for item in items]
    right = [(split.right or [])[item] for split, items in near for item in items]
    unit = _unit(embeddings[lookup(list(texts))])
    uniformity, anisotropy = _spread(unit[unit.any(dim=1)])
    return {
        "alignment": _distance(_unit(embeddings[lookup(left)]), _unit(embeddings[lookup(right)])),
        "uniformity": uniformity,
        "anisotropy": anisotropy,
        "sentences": ", ".join(names),
    }


def _unit(rows: Tensor) -> Tensor:
    """Rows of length one; zeros stay zeros."""
    return torch.nn.functional.normalize(rows, dim=1)


def _distance(left: Tensor, right: Tensor) -> float | None:
    """The mean squared distance of rows of length one, pairs with a zero left out; None where there is no other."""
    both = left.any(dim=1) & right.any(dim=1)
    return float((left[both] - right[both]).square().sum(dim=1).double().mean()) if both.any() else None


def _spread(unit: Tensor) -> tuple[float | None, float | None]:
    """Uniformity and anisotropy of rows of length one, over their distinct pairs; None for fewer than two rows."""
    count = len(unit)
    pairs = count * (count - 1) / 2
    if not pairs:
        return None, None
    anisotropy = (float(unit.sum(dim=0, dtype=torch.float64).square().sum()) - count) / (2 * pairs)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rows = unit.to(device)  # the products of all pairs are by far the longest part
    total = 0.0
    for start in range(0, count, _ROWS_AT_ONCE):
        block = rows[start : start + _ROWS_AT_ONCE]
        kernel = (block @ rows[start:].T).sub_(1).mul_(4).exp_()  # |a - b|^2 = 2 - 2 a.b
        total += float(kernel.triu_(diagonal=1).sum(dtype=torch.float64))
    return math.log(total / pairs), anisotropy
