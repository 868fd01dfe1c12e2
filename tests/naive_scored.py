"""The objectives over scored pairs as plain loops, written from the papers' equations (the oracle)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from trainables.objectives.objective import EmbeddedBatch


def pairs_of(batch: EmbeddedBatch) -> list[tuple[Tensor, Tensor, float]]:
    """Both sides of each pair, with length 1, and its score."""
    pairs = []
    for p, h, score in zip(batch.premise.tolist(), batch.hypothesis.tolist(), batch.score.tolist(), strict=True):
        x, y = (batch.projected[i] / batch.projected[i].pow(2).sum().sqrt() for i in (p, h))
        pairs.append((x, y, score))
    return pairs


def ranked(batch: EmbeddedBatch, config: Any, alike: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """CoSENT, eq. 8: over pairs of pairs."""
    pairs = pairs_of(batch)
    total = batch.projected.sum() * 0 + 1
    for a, b, high in pairs:
        for c, d, low in pairs:
            if high > low:
                total = total + torch.exp((alike(c, d) - alike(a, b)) / config.temperature)
    return torch.log(total)


def complex_difference(x: Tensor, y: Tensor) -> Tensor:
    """AnglE, eq. 4 to 6, as its code has them: of x times the conjugate of y, |Re + Im| of the sum."""
    half = (len(x) + 1) // 2
    total = x.sum() * 0
    for k in range(half):
        re_x, im_x = x[k], x[half + k] if half + k < len(x) else 0
        re_y, im_y = y[k], y[half + k] if half + k < len(y) else 0
        total = total + (re_x * re_y + im_x * im_y) + (im_x * re_y - re_x * im_y)
    return total.abs()


def cosine(batch: EmbeddedBatch, config: Any) -> Tensor:
    """The mean squared error of cosines."""
    pairs = pairs_of(batch)
    return sum(((torch.dot(x, y) - score) ** 2 for x, y, score in pairs), batch.projected.sum() * 0) / len(pairs)


SCORED_ORACLES: dict[str, Callable[[EmbeddedBatch, Any], Tensor]] = {
    "cosent": lambda batch, config: ranked(batch, config, torch.dot),
    "angle": lambda batch, config: ranked(batch, config, complex_difference),
    "cosine": cosine,
}
