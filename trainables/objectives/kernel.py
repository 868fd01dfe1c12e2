"""The contrastive kernel: each contrastive loss of this package calls it with masks of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from trainables.lazy_torch import torch
from trainables.objectives.comparison import ContrastSet

if TYPE_CHECKING:
    from torch import Tensor


NUMBERS_AT_ONCE = 2**24
"""Most numbers that a loss computes at once, such as one score for each pair of an anchor and a candidate."""


def contrastive(
    scores: Tensor, positives: Tensor, denominator: Tensor, zero_scores: Tensor | None = None
) -> Tensor:  # (anchors,)
    """Return, for each anchor, the mean over its positives of -log of a softmax with chosen denominators.

        l_i = mean over p in P(i) of -log( exp(s_ip) / sum over k in D(i, p) of exp(s_ik) )

    scores: s, (anchors, candidates), already divided by the temperature.
    positives: P, boolean, (anchors, candidates). An anchor without a positive gives 0.
    denominator: boolean, (anchors, candidates): the candidates in the denominators of all positives of an anchor.
        D(i, p) is denominator(i) and p itself. A loss in which positives compete puts them into it (SCL, SupCon).
        A loss that leaves out an anchor's other positives does not (SupMPN, MNRL).
    zero_scores: (anchors,): number of further terms exp(0) in each of the anchor's denominators (SupMPN as released).
    """
    lowest = torch.finfo(scores.dtype).min  # not -inf: a row of only -inf has no gradient
    common = torch.logsumexp(scores.masked_fill(~denominator, lowest), dim=1, keepdim=True)  # (anchors, 1)
    if zero_scores is not None:
        common = torch.logaddexp(common, zero_scores.to(scores.dtype).log().unsqueeze(1))
    denominators = torch.where(denominator, common, torch.logaddexp(common, scores))  # (anchors, candidates)
    losses = (denominators - scores).masked_fill(~positives, 0.0)
    return losses.sum(dim=1) / positives.sum(dim=1).clamp(min=1)


def nearer_than_positives(compared: ContrastSet, margin: float, relative: bool) -> Tensor:
    """Return (anchors, candidates), boolean: whether the candidate's score exceeds the score of the anchor's farthest
    positive by more than the margin. If `relative`, the margin is a share of the positive's score. False for positives
    of the anchor, and for all candidates of an anchor without a positive."""

    def near(part: slice) -> Tensor:
        own = compared.rows(part)
        scores = own.similarities()
        least = scores.masked_fill(~own.positives, torch.inf).min(dim=1, keepdim=True).values
        limit = least + (least.abs() if relative else 1.0) * margin
        return (scores > limit) & ~own.positives

    with torch.no_grad():
        return compute_in_parts(near, len(compared.anchors), len(compared.candidates))


def compute_in_parts(compute: Callable[[slice], Tensor], rows: int, width: int) -> Tensor:
    """Return the results of `compute` for all rows. Rows are processed in parts of at most `NUMBERS_AT_ONCE` numbers.

    A row has `width` numbers, for example an anchor's scores; their total grows with the square of the batch. Numbers
    of a part are computed again for the backward pass, not stored. `compute` returns one or more rows for each part.
    """
    together = max(1, NUMBERS_AT_ONCE // max(1, width))
    if rows <= together:
        return compute(slice(0, rows))
    parts = [slice(start, min(start + together, rows)) for start in range(0, rows, together)]
    from torch.utils.checkpoint import checkpoint

    return torch.cat([checkpoint(compute, part, use_reentrant=False, preserve_rng_state=False) for part in parts])


def draw(allowed: Tensor, most: int | None, generator: torch.Generator) -> Tensor:
    """Return a mask of at most `most` randomly drawn allowed candidates per anchor; (anchors, candidates), boolean."""
    if most is None or most >= allowed.shape[1]:
        return allowed
    keys = torch.rand(allowed.shape, generator=generator).masked_fill(~allowed, -1.0)
    chosen = torch.zeros_like(allowed)
    chosen.scatter_(1, keys.topk(most, dim=1).indices, True)
    return chosen & allowed
