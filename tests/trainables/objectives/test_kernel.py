"""The contrastive kernel against a triple loop."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.objective_batches import EXACT
from trainables.objectives.kernel import contrastive

masks = st.integers(1, 4).flatmap(
    lambda anchors: st.integers(1, 6).flatmap(
        lambda candidates: st.tuples(
            *[
                st.lists(st.lists(item, min_size=candidates, max_size=candidates), min_size=anchors, max_size=anchors)
                for item in (st.floats(-50, 50), st.booleans(), st.booleans())
            ]
        )
    )
)


class TestKernel:
    @given(masks, st.sampled_from(["as drawn", "positives compete", "positives left out"]))
    def test_against_a_triple_loop(self, drawn: Any, style: str):
        scores = torch.tensor(drawn[0], dtype=torch.float64, requires_grad=True)
        positives, denominator = torch.tensor(drawn[1]), torch.tensor(drawn[2])
        if style == "positives compete":  # SCL, SupCon
            denominator = denominator | positives
        elif style == "positives left out":  # SupMPN, MNRL
            denominator = denominator & ~positives
        ours = contrastive(scores, positives, denominator)
        losses_of = []
        for i in range(len(scores)):
            losses = []
            for p in range(scores.shape[1]):
                if positives[i, p]:
                    members = [k for k in range(scores.shape[1]) if denominator[i, k] or k == p]
                    losses.append(-(scores[i, p] - torch.logsumexp(scores[i, members], 0)))
            losses_of.append(sum(losses) / len(losses) if losses else scores[i].sum() * 0)
        theirs = torch.stack(losses_of)
        torch.testing.assert_close(ours, theirs, **EXACT)
        ours_gradient, theirs_gradient = (torch.autograd.grad(loss.sum(), scores)[0] for loss in (ours, theirs))
        torch.testing.assert_close(ours_gradient, theirs_gradient, **EXACT)

    def test_ones_are_candidates_that_score_0(self):
        scores = torch.tensor([[1.0, 2.0, 0.5], [1.0, 2.0, 0.5]], dtype=torch.float64, requires_grad=True)
        positives = torch.tensor([[True, True, False], [True, True, False]])
        ours = contrastive(scores, positives, ~positives, torch.tensor([2, 0]))
        more = torch.cat([scores, scores.new_zeros(2, 2)], dim=1)
        nobody = torch.zeros(2, 2, dtype=torch.bool)
        zeros = torch.tensor([[True, True], [False, False]])
        theirs = contrastive(more, torch.cat([positives, nobody], 1), torch.cat([~positives, zeros], 1))
        torch.testing.assert_close(ours, theirs, **EXACT)
        ours_gradient, theirs_gradient = (torch.autograd.grad(loss.sum(), scores)[0] for loss in (ours, theirs))
        torch.testing.assert_close(ours_gradient, theirs_gradient, **EXACT)
        assert ours[0] > ours[1] + 0.1

    def test_a_positive_alone_costs_nothing(self):
        scores = torch.tensor([[3.0, -1e30, 1e30]], requires_grad=True)
        alone = torch.tensor([[True, False, False]])
        for denominator in (alone, ~alone & alone):
            loss = contrastive(scores, alone, denominator)
            loss.sum().backward()
            assert loss.tolist() == [0.0]
        assert torch.isfinite(scores.grad).all()  # type: ignore[arg-type]

    def test_no_anchor_at_all(self):
        nothing = torch.zeros(0, 3, requires_grad=True)
        assert contrastive(nothing, nothing > 0, nothing > 0).shape == (0,)
