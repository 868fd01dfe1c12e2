"""The objectives against loops written from the paper's equations: values and gradients to 1e-10."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.naive import Drawn, naive_loss, pools
from trainables.objectives import OBJECTIVES, build_objective
from trainables.objectives.batch import EmbeddedBatch, Objective
from trainables.objectives.classifier import PairClassifier
from trainables.objectives.contrast import Contrast, choose_contrast
from trainables.objectives.kernel import contrastive, draw
from trainables.recipe import ObjectiveConfig

DIM = 5
EXACT = {"rtol": 1e-10, "atol": 1e-10}


def make_batch(rows: list[tuple[int, int, int]], seed: int = 0, scale: float = 1.0) -> EmbeddedBatch:
    """Rows of (premise sentence, hypothesis sentence, label), with random float64 embeddings."""
    random = torch.Generator().manual_seed(seed)
    premise, hypothesis, label = torch.tensor(rows).T
    sentences = int(max(premise.max(), hypothesis.max())) + 1
    embeddings, projected = (
        (scale * torch.randn(sentences, DIM, generator=random, dtype=torch.float64)).requires_grad_() for _ in "ep"
    )
    text = torch.arange(sentences)
    return EmbeddedBatch(
        embeddings, projected, text, premise, hypothesis, label, premise, torch.Generator().manual_seed(seed)
    )


def random_rows(seed: int, premises: int = 5, repeats: bool = True) -> list[tuple[int, int, int]]:
    """Groups of random size, adjacent rows; some hypotheses stand under several premises or are premises."""
    random = torch.Generator().manual_seed(seed)

    def below(top: int) -> int:
        return int(torch.randint(top, (1,), generator=random))

    rows = []
    for premise in range(premises):
        for _ in range(1 + below(5)):
            hypothesis = below(premises + 8) if repeats else premises + len(rows)
            rows.append((premise, hypothesis, below(3)))
    return rows


def classifier_of(objective: Objective) -> PairClassifier | None:
    return next((module for module in objective.modules() if isinstance(module, PairClassifier)), None)


def build(config: ObjectiveConfig) -> Objective:
    torch.manual_seed(3)
    return build_objective(config, DIM).double()


def drawn_by(contrast: Contrast) -> Drawn:
    return [
        (int(anchor), positives.nonzero().flatten().tolist(), negatives.nonzero().flatten().tolist())
        for anchor, positives, negatives in zip(contrast.anchors, contrast.positives, contrast.negatives, strict=True)
    ]


def again(batch: EmbeddedBatch) -> EmbeddedBatch:
    """The same batch with its generator at the start."""
    seed = batch.generator.initial_seed()
    return replace(batch, generator=torch.Generator().manual_seed(seed))


def gradients(value: Tensor, batch: EmbeddedBatch, objective: Objective) -> list[Tensor]:
    inputs = [batch.embeddings, batch.projected, *objective.parameters()]
    found = torch.autograd.grad(value, inputs, allow_unused=True)
    return [torch.zeros_like(i) if g is None else g for g, i in zip(found, inputs, strict=True)]


def compare(batch: EmbeddedBatch, config: ObjectiveConfig) -> Drawn:
    """Value and gradients against the loops; returns what was drawn."""
    objective = build(config)
    drawn = drawn_by(choose_contrast(again(batch), config))
    ours = objective(again(batch)).value
    theirs = naive_loss(batch, config, drawn, classifier_of(objective))
    torch.testing.assert_close(ours, theirs, **EXACT)
    for mine, wanted in zip(gradients(ours, batch, objective), gradients(theirs, batch, objective), strict=True):
        torch.testing.assert_close(mine, wanted, **EXACT)
    return drawn


@pytest.mark.parametrize("fidelity", ["paper", "released"])
@pytest.mark.parametrize("name", OBJECTIVES)
class TestAgainstLoops:
    @pytest.mark.parametrize("seed", range(6))
    def test_random_groups_without_caps(self, name: str, fidelity: Any, seed: int):
        compare(make_batch(random_rows(seed), seed), ObjectiveConfig(name, weight=0.3, fidelity=fidelity))

    @pytest.mark.parametrize(("positives", "negatives"), [(1, 1), (2, 3), (1, None), (None, 4), (100, 100)])
    def test_caps(self, name: str, fidelity: Any, positives: int | None, negatives: int | None):
        for seed in range(3):
            batch = make_batch(random_rows(seed), seed)
            compare(batch, ObjectiveConfig(name, positives, negatives, 0.5, 0.5, fidelity))

    @pytest.mark.parametrize("weight", [0.0, 0.1, 1.0])
    def test_weights(self, name: str, fidelity: Any, weight: float):
        compare(make_batch(random_rows(1)), ObjectiveConfig(name, weight=weight, fidelity=fidelity))

    @pytest.mark.parametrize("temperature", [0.05, 0.1, 10.0])
    def test_temperatures(self, name: str, fidelity: Any, temperature: float):
        batch = make_batch(random_rows(2), scale=0.5)
        compare(batch, ObjectiveConfig(name, temperature=temperature, fidelity=fidelity))

    def test_one_anchor(self, name: str, fidelity: Any):
        compare(make_batch([(0, 1, 0), (0, 2, 1), (3, 4, 2)]), ObjectiveConfig(name, fidelity=fidelity))

    def test_one_pair(self, name: str, fidelity: Any):
        compare(make_batch([(0, 1, 0)]), ObjectiveConfig(name, fidelity=fidelity))

    def test_duplicates(self, name: str, fidelity: Any):
        """The same row twice, an entailment that is the premise itself, one sentence under both labels."""
        rows = [(0, 1, 0), (0, 1, 0), (0, 0, 0), (0, 2, 1), (3, 1, 2), (3, 4, 0), (3, 4, 2), (5, 3, 0)]
        compare(make_batch(rows), ObjectiveConfig(name, fidelity=fidelity))

    def test_a_batch_without_anchor_has_no_contrast_and_is_counted(self, name: str, fidelity: Any):
        batch = make_batch([(0, 1, 1), (0, 2, 2), (3, 4, 1)])
        config = ObjectiveConfig(name, weight=1.0, fidelity=fidelity)
        compare(batch, config)
        objective = build(config)
        loss = objective(batch)
        if name == "ce":
            return
        assert loss.value == 0
        assert dict(loss.counts) == {"anchors": 0, "positives": 0, "negatives": 0, "batches_without_anchor": 1}
        assert all((gradient == 0).all() for gradient in gradients(loss.value, batch, objective))

    def test_counts(self, name: str, fidelity: Any):
        config = ObjectiveConfig(name, 2, 3, fidelity=fidelity)
        batch = make_batch(random_rows(4), 4)
        counts = build(config)(batch).counts
        drawn = drawn_by(choose_contrast(again(batch), config))
        if counts:
            assert counts["anchors"] == len(drawn)
            assert counts["positives"] == sum(len(positives) for _, positives, _ in drawn)
            assert counts["negatives"] == sum(len(negatives) for _, _, negatives in drawn)
            assert counts["batches_without_anchor"] == 0

    @pytest.mark.parametrize("workers", [2, 3, 20])
    def test_the_parts_of_a_team_add_up(self, name: str, fidelity: Any, workers: int):
        config = ObjectiveConfig(name, 2, 3, fidelity=fidelity)
        batch = make_batch(random_rows(5), 5)
        objective = build(config)
        parts = [objective(replace(again(batch), rank=rank, workers=workers)) for rank in range(workers)]
        torch.testing.assert_close(sum(part.value for part in parts), objective(again(batch)).value, **EXACT)
        assert len({tuple(part.counts.items()) for part in parts}) == 1

    @pytest.mark.parametrize("temperature", [1e-6, 1e6])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_extreme_temperatures_do_not_overflow(
        self, name: str, fidelity: Any, temperature: float, dtype: torch.dtype
    ):
        batch = make_batch(random_rows(6), 6, scale=10)
        batch = replace(
            batch,
            embeddings=batch.embeddings.detach().to(dtype).requires_grad_(),
            projected=batch.projected.detach().to(dtype).requires_grad_(),
        )
        objective = build(ObjectiveConfig(name, temperature=temperature, fidelity=fidelity)).to(dtype)
        value = objective(batch).value
        assert torch.isfinite(value)
        assert all(torch.isfinite(gradient).all() for gradient in gradients(value, batch, objective))


class TestTheComparisonCanFail:
    """A wrong temperature, lambda, candidate or cap makes it fail."""

    @pytest.mark.parametrize("change", [{"temperature": 1.001}, {"weight": 0.501}])
    def test_numbers(self, change: dict[str, Any]):
        batch, config = make_batch(random_rows(0)), ObjectiveConfig()
        objective = build(config)
        drawn = drawn_by(choose_contrast(again(batch), config))
        wrong = naive_loss(batch, replace(config, **change), drawn, classifier_of(objective))
        with pytest.raises(AssertionError):
            torch.testing.assert_close(objective(again(batch)).value, wrong, **EXACT)

    def test_one_negative_less(self):
        batch, config = make_batch(random_rows(0)), ObjectiveConfig()
        objective = build(config)
        (anchor, positives, negatives), *rest = drawn_by(choose_contrast(again(batch), config))
        wrong = naive_loss(batch, config, [(anchor, positives, negatives[1:]), *rest], classifier_of(objective))
        with pytest.raises(AssertionError):
            torch.testing.assert_close(objective(again(batch)).value, wrong, **EXACT)

    def test_an_augmented_label(self):
        batch, config = make_batch([(0, 1, 0), (0, 2, 1), (3, 4, 2)]), ObjectiveConfig("ce_augment")
        objective = build(config)
        other = replace(batch, label=torch.tensor([0, 2, 2]))
        right, wrong = (
            naive_loss(b, config, drawn_by(choose_contrast(again(batch), config)), classifier_of(objective))
            for b in (batch, other)
        )
        assert abs(right - wrong) > 1e-6


class TestDraws:
    @given(st.integers(0, 10**6), st.none() | st.integers(1, 6), st.none() | st.integers(1, 12), st.booleans())
    @settings(max_examples=60)
    def test_bounds_and_membership(self, seed: int, most_positives: Any, most_negatives: Any, released: bool):
        batch = make_batch(random_rows(seed), seed)
        config = ObjectiveConfig(
            positives=most_positives, negatives=most_negatives, fidelity="released" if released else "paper"
        )
        drawn, allowed = drawn_by(choose_contrast(batch, config)), pools(batch, config)
        assert [anchor for anchor, _, _ in drawn] == [pool.anchor for pool in allowed]
        for (_, positives, negatives), pool in zip(drawn, allowed, strict=True):
            assert set(pool.required) <= set(positives) <= set(pool.positives)
            assert set(negatives) <= set(pool.negatives)
            assert len(positives) == min(len(pool.positives), most_positives or 10**9)
            cap = None if released else most_negatives  # the released code's N- has no effect
            assert len(negatives) == min(len(pool.negatives), cap or 10**9)

    @given(st.integers(0, 10**6))
    @settings(max_examples=60)
    def test_an_entailment_of_the_anchor_is_never_its_negative(self, seed: int):
        """Also where the same sentence stands under another premise."""
        batch = make_batch(random_rows(seed), seed)
        for anchor, _, negatives in drawn_by(choose_contrast(batch, ObjectiveConfig())):
            entailed = batch.hypothesis[(batch.premise == anchor) & (batch.label == 0)]
            assert not set(batch.hypothesis[negatives].tolist()) & set(entailed.tolist())

    def test_every_other_hypothesis_is_a_negative(self):
        rows = random_rows(7, repeats=False)
        batch = make_batch(rows)
        for anchor, positives, negatives in drawn_by(choose_contrast(batch, ObjectiveConfig())):
            assert sorted(positives + negatives) == list(range(len(rows)))
            assert positives == [r for r, (premise, _, label) in enumerate(rows) if premise == anchor and label == 0]

    def test_released_counts_a_premise_once_for_each_of_its_entailments(self):
        batch = make_batch([(0, 1, 0), (0, 2, 0), (0, 3, 1), (4, 5, 2)])
        drawn = drawn_by(choose_contrast(batch, ObjectiveConfig(positives=1, fidelity="released")))
        assert drawn == [(0, [0], [2, 3]), (0, [1], [2, 3])]

    def test_is_uniform(self):
        allowed = torch.tensor([[True] * 6 + [False] * 2])
        generator = torch.Generator().manual_seed(0)
        rounds = 6000
        drawn: Counter[tuple[int, ...]] = Counter()
        for chosen in draw(allowed.expand(rounds, -1), 2, generator):
            drawn[tuple(chosen.nonzero().flatten().tolist())] += 1
        assert len(drawn) == math.comb(6, 2)
        expected = rounds / len(drawn)
        spread = sum((count - expected) ** 2 / expected for count in drawn.values())
        assert spread < 36.1  # chi-square with 14 degrees of freedom, p = 0.001

    def test_depends_on_the_generator_alone(self):
        batch, config = make_batch(random_rows(8)), ObjectiveConfig(positives=1, negatives=2)
        torch.manual_seed(1)
        first = drawn_by(choose_contrast(again(batch), config))
        torch.manual_seed(2)
        assert drawn_by(choose_contrast(again(batch), config)) == first
        draws = [
            drawn_by(choose_contrast(replace(batch, generator=torch.Generator().manual_seed(s)), config))
            for s in range(5)
        ]
        assert any(other != first for other in draws)


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
    @settings(max_examples=150)
    def test_against_a_triple_loop(self, drawn: Any, style: str):
        scores = torch.tensor(drawn[0], dtype=torch.float64, requires_grad=True)
        positives, shared = torch.tensor(drawn[1]), torch.tensor(drawn[2])
        if style == "positives compete":  # SCL, SupCon
            shared = shared | positives
        elif style == "positives left out":  # SupMPN, MNRL
            shared = shared & ~positives
        ours = contrastive(scores, positives, shared)
        wanted = []
        for i in range(len(scores)):
            losses = []
            for p in range(scores.shape[1]):
                if positives[i, p]:
                    members = [k for k in range(scores.shape[1]) if shared[i, k] or k == p]
                    losses.append(-(scores[i, p] - torch.logsumexp(scores[i, members], 0)))
            wanted.append(sum(losses) / len(losses) if losses else scores[i].sum() * 0)
        theirs = torch.stack(wanted)
        torch.testing.assert_close(ours, theirs, **EXACT)
        ours_gradient, theirs_gradient = (torch.autograd.grad(loss.sum(), scores)[0] for loss in (ours, theirs))
        torch.testing.assert_close(ours_gradient, theirs_gradient, **EXACT)

    def test_the_two_styles_differ(self):
        scores = torch.tensor([[1.0, 2.0, 0.5]])
        positives = torch.tensor([[True, True, False]])
        competing = contrastive(scores, positives, torch.ones_like(positives))
        left_out = contrastive(scores, positives, ~positives)
        assert competing > left_out + 0.1

    def test_a_positive_alone_costs_nothing(self):
        scores = torch.tensor([[3.0, -1e30, 1e30]], requires_grad=True)
        alone = torch.tensor([[True, False, False]])
        for shared in (alone, ~alone & alone):
            loss = contrastive(scores, alone, shared)
            loss.sum().backward()
            assert loss.tolist() == [0.0]
        assert torch.isfinite(scores.grad).all()  # type: ignore[arg-type]

    def test_no_anchor_at_all(self):
        nothing = torch.zeros(0, 3, requires_grad=True)
        assert contrastive(nothing, nothing > 0, nothing > 0).shape == (0,)
