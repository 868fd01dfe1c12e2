"""What distillation learns, as plain loops (the oracle)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from trainables.labels import CONTRADICTION, ENTAILMENT
from trainables.objectives.objective import EmbeddedBatch


def cosine(embeddings: Tensor, i: int, j: int) -> Tensor:
    x, y = embeddings[i], embeddings[j]
    return torch.dot(x, y) / (x.pow(2).sum().sqrt() * y.pow(2).sum().sqrt())


def similarities(batch: EmbeddedBatch, config: Any) -> Tensor:
    """For each anchor the divergence of two distributions over the texts of the batch that are not its own."""
    total, tau, text = batch.projected.sum() * 0, config.temperature, batch.text.tolist()
    anchors, candidates = sorted({*batch.premise.tolist()}), sorted({*batch.hypothesis.tolist()})
    for a in anchors:
        others = [c for c in candidates if text[c] != text[a]]
        shares, own = (
            [torch.exp(cosine(embeddings, a, c) / tau) for c in others] for embeddings in (batch.guide, batch.projected)
        )
        for p, q in zip(shares, own, strict=True):
            share, ours = p / sum(shares), q / sum(own)
            total = total + tau**2 * share * (torch.log(share) - torch.log(ours))
    return total / len(anchors)


def margins(batch: EmbeddedBatch, config: Any) -> Tensor:
    """Over each anchor's positives and hard negatives."""
    rows = [*zip(*(part.tolist() for part in (batch.group, batch.premise, batch.hypothesis, batch.label)), strict=True)]
    terms = [batch.projected.sum() * 0]
    for group, a, p, label in rows:
        for other, b, n, worse in rows:
            if (label, worse) == (ENTAILMENT, CONTRADICTION) and group == other:
                ours, theirs = (cosine(x, a, p) - cosine(x, b, n) for x in (batch.projected, batch.guide))
                terms.append((ours - theirs) ** 2)
    return sum(terms, batch.projected.sum() * 0) / max(len(terms) - 1, 1)


def lists(batch: EmbeddedBatch, config: Any) -> Tensor:
    """For each anchor the divergence of two distributions over its own texts that have a score of the teacher."""
    total, tau, compared = batch.projected.sum() * 0, config.temperature, 0
    for group in sorted({*batch.group.tolist()}):
        rows = [n for n, of in enumerate(batch.group.tolist()) if of == group and not math.isnan(batch.score[n])]
        compared += len(rows) > 1
        shares = [math.exp(batch.score[n].item() / tau) for n in rows]
        own = [torch.exp(cosine(batch.projected, int(batch.premise[n]), int(batch.hypothesis[n])) / tau) for n in rows]
        for p, q in zip(shares, own, strict=True):
            total = total + tau**2 * p / sum(shares) * (math.log(p / sum(shares)) - torch.log(q / sum(own)))
    return total / max(compared, 1)


def scored_margins(batch: EmbeddedBatch, config: Any) -> Tensor:
    """Over each anchor's positives and hard negatives that have a score of the teacher."""
    rows = [*zip(batch.group.tolist(), batch.premise, batch.hypothesis, batch.label, batch.score.tolist(), strict=True)]
    terms = []
    for group, a, p, label, high in rows:
        for other, b, n, worse, low in rows:
            if (label, worse) == (ENTAILMENT, CONTRADICTION) and group == other and not math.isnan(high + low):
                ours = cosine(batch.projected, int(a), int(p)) - cosine(batch.projected, int(b), int(n))
                terms.append((ours - (high - low)) ** 2)
    return sum(terms, batch.projected.sum() * 0) / max(len(terms), 1)


def embeddings(batch: EmbeddedBatch, config: Any) -> Tensor:
    """Of directions where each of the teacher's embeddings has length 1, or 0."""
    unit = all(length == 0 or abs(length - 1) < 0.01 for length in (math.hypot(*t) for t in batch.guide.tolist()))
    total = batch.projected.sum() * 0
    for ours, theirs in zip(batch.projected, batch.guide, strict=True):
        theirs = theirs[: len(ours)]  # at a width the teacher is cut, too
        ours, theirs = (each / each.pow(2).sum().sqrt().clamp(min=1e-6) if unit else each for each in (ours, theirs))
        for x, t in zip(ours, theirs, strict=True):
            total = total + (x - t) ** 2
    return total / batch.projected.numel()


DISTILL_ORACLES: dict[str, Callable[[EmbeddedBatch, Any], Tensor]] = {
    "similarities": similarities,
    "margins": margins,
    "embeddings": embeddings,
}
"""By `objective.matches`."""
SCORED_DISTILL_ORACLES: dict[str, Callable[[EmbeddedBatch, Any], Tensor]] = {
    "similarities": lists,
    "margins": scored_margins,
}
"""The same where the training data hold the teacher's scores."""
