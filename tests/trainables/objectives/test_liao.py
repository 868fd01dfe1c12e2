"""The objectives of Liao 2021 against loops written from the paper's equations: values and gradients to 1e-10."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.naive import LIAO_ORACLES, Drawn, naive_loss, pools
from tests.objective_batches import (
    EXACT,
    again,
    build,
    check_equal,
    check_finite,
    gradients,
    labelled,
    options,
    random_rows,
    with_bank,
)
from trainables.objectives.kernel import draw
from trainables.objectives.liao_pairs import Contrast, LiaoPairs, choose_contrast
from trainables.objectives.objective import EmbeddedBatch
from trainables.objectives.pair_classifier import PairClassifier
from trainables.testing.objectives import Built


def settled(name: str = "scl", positives: int | None = None, negatives: int | None = None, **more: Any) -> Any:
    return options(name, **{"positives": positives, "negatives": negatives, **more})


def classifier_of(objective: Built) -> PairClassifier | None:
    return next((module for module in objective.modules() if isinstance(module, PairClassifier)), None)


def drawn_by(contrast: Contrast) -> Drawn:
    anchors = contrast.premises.anchor[contrast.anchor_group]
    return [
        (int(anchor), positives.nonzero().flatten().tolist(), negatives.nonzero().flatten().tolist())
        for anchor, positives, negatives in zip(anchors, contrast.positives, contrast.negatives, strict=True)
    ]


def compare(batch: EmbeddedBatch, config: Any) -> Drawn:
    """Value and gradients against the loops; returns what was drawn."""
    objective = build(config)
    drawn = drawn_by(choose_contrast(again(batch), config)) if isinstance(config, LiaoPairs) else []
    ours = objective(again(batch)).value
    theirs = naive_loss(batch, config, drawn, classifier_of(objective))
    check_equal(ours, theirs, batch, objective)
    return drawn


@pytest.mark.parametrize("by", ["guide", "self"])
def test_scl_filters_by_scores(by: str):
    config, taken = settled("scl", false_negatives=by), 0
    for seed in range(4, 8):
        batch = labelled(random_rows(seed), seed)
        compare(batch, config)
        taken += int(build(config)(again(batch)).counts["filtered_negatives"])
    assert taken > 0


SETTINGS: list[dict[str, Any]] = [
    {"weight": 0.3},
    {"positives": 1, "negatives": 1, "weight": 0.5, "temperature": 0.5},
    {"positives": 2, "negatives": 3, "weight": 0.1, "temperature": 0.1},
    {"positives": 1, "weight": 0.0},
    {"negatives": 4, "weight": 1.0},
    {"positives": 100, "negatives": 100, "temperature": 0.05},
    {"temperature": 10.0},
]
"""Caps and numbers, by turns."""


@pytest.mark.parametrize("name", LIAO_ORACLES)
@pytest.mark.parametrize("fidelity", ["paper", "released"])
class TestAgainstLoops:
    def test_random_groups(self, name: str, fidelity: Any):
        for seed, changes in enumerate(SETTINGS):
            compare(labelled(random_rows(seed), seed, scale=0.5), settled(name, fidelity=fidelity, **changes))

    def test_awkward_batches(self, name: str, fidelity: Any):
        """One anchor; one pair; a row twice, an entailment that is the premise, one sentence under both labels."""
        twice = [(0, 1, 0), (0, 1, 0), (0, 0, 0), (0, 2, 1), (3, 1, 2), (3, 4, 0), (3, 4, 2), (5, 3, 0)]
        for rows in [(0, 1, 0), (0, 2, 1), (3, 4, 2)], [(0, 1, 0)], twice:
            compare(labelled(rows), settled(name, fidelity=fidelity))

    def test_a_batch_without_anchor_has_no_contrast_and_is_counted(self, name: str, fidelity: Any):
        batch = labelled([(0, 1, 1), (0, 2, 2), (3, 4, 1)])
        config = settled(name, weight=1.0, fidelity=fidelity)
        compare(batch, config)
        objective = build(config)
        loss = objective(batch)
        if name == "ce":
            return
        assert loss.value == 0
        assert dict(loss.counts) == {"anchors": 0, "positives": 0, "negatives": 0, "batches_without_anchor": 1}
        assert all((gradient == 0).all() for gradient in gradients(loss.value, batch, objective))

    def test_counts(self, name: str, fidelity: Any):
        config = settled(name, 2, 3, fidelity=fidelity)
        batch = labelled(random_rows(4), 4)
        counts = build(config)(batch).counts
        if counts:
            drawn = drawn_by(choose_contrast(again(batch), config))
            assert counts["anchors"] == len(drawn)
            assert counts["positives"] == sum(len(positives) for _, positives, _ in drawn)
            assert counts["negatives"] == sum(len(negatives) for _, _, negatives in drawn)
            assert counts["batches_without_anchor"] == 0

    def test_extreme_temperatures_do_not_overflow(self, name: str, fidelity: Any):
        batch = labelled(random_rows(6), 6, scale=10)
        for temperature in (1e-6, 1e6):
            check_finite(batch, build(settled(name, temperature=temperature, fidelity=fidelity)))


@pytest.mark.parametrize("fidelity", ["paper", "released"])
def test_a_memory_bank(fidelity: Any):
    for seed in range(2):
        batch, config = labelled(random_rows(seed), seed), settled(fidelity=fidelity)
        compare(with_bank(batch), config)
        without = build(config)(again(batch)).value
        assert abs(build(config)(with_bank(again(batch))).value - without) > 1e-6


@pytest.mark.parametrize(("false_negatives", "anchors"), [("mask", "rows"), ("keep", "premises")])
@pytest.mark.parametrize("name", ["scl", "ce_augment"])
def test_what_fidelity_sets_by_halves(name: str, false_negatives: Any, anchors: Any):
    """One as in the paper and the other as released."""
    config = settled(name, 2, weight=0.3, false_negatives=false_negatives, anchors=anchors)
    for seed in range(2):
        compare(labelled(random_rows(seed), seed), config)


def test_the_anchors_own_text_is_no_negative_unless_kept():
    """The premise of the first row is a hypothesis of the second premise."""
    batch = labelled([(0, 1, 0), (2, 0, 1), (2, 3, 0)])
    for false_negatives, negatives in (("mask", [2]), ("keep", [1, 2])):
        drawn = drawn_by(choose_contrast(batch, settled(false_negatives=false_negatives)))
        assert drawn[0] == (0, [0], negatives)


class TestTheComparisonCanFail:
    """A wrong temperature, lambda, candidate or cap makes it fail."""

    @pytest.mark.parametrize("change", [{"temperature": 1.001}, {"weight": 0.501}])
    def test_numbers(self, change: dict[str, Any]):
        batch, config = labelled(random_rows(0)), settled()
        objective = build(config)
        drawn = drawn_by(choose_contrast(again(batch), config))
        wrong = naive_loss(batch, replace(config, **change), drawn, classifier_of(objective))
        with pytest.raises(AssertionError):
            torch.testing.assert_close(objective(again(batch)).value, wrong, **EXACT)

    def test_one_negative_less(self):
        batch, config = labelled(random_rows(0)), settled()
        objective = build(config)
        (anchor, positives, negatives), *rest = drawn_by(choose_contrast(again(batch), config))
        wrong = naive_loss(batch, config, [(anchor, positives, negatives[1:]), *rest], classifier_of(objective))
        with pytest.raises(AssertionError):
            torch.testing.assert_close(objective(again(batch)).value, wrong, **EXACT)

    def test_an_augmented_label(self):
        batch, config = labelled([(0, 1, 0), (0, 2, 1), (3, 4, 2)]), settled("ce_augment")
        objective = build(config)
        other = replace(batch, label=torch.tensor([0, 2, 2]))
        right, wrong = (
            naive_loss(b, config, drawn_by(choose_contrast(again(batch), config)), classifier_of(objective))
            for b in (batch, other)
        )
        assert abs(right - wrong) > 1e-6


class TestDraws:
    @given(st.integers(0, 10**6), st.none() | st.integers(1, 6), st.none() | st.integers(1, 12), st.booleans())
    def test_bounds_and_membership(self, seed: int, most_positives: Any, most_negatives: Any, released: bool):
        batch = labelled(random_rows(seed), seed)
        config = settled(
            positives=most_positives, negatives=most_negatives, fidelity="released" if released else "paper"
        )
        drawn, allowed = drawn_by(choose_contrast(batch, config)), pools(batch, config)
        assert [anchor for anchor, _, _ in drawn] == [pool.anchor for pool in allowed]
        for (_, positives, negatives), pool in zip(drawn, allowed, strict=True):
            assert set(pool.required) <= set(positives) <= set(pool.positives)
            assert set(negatives) <= set(pool.negatives)
            assert len(positives) == min(len(pool.positives), most_positives or 10**9)
            cap = None if released else most_negatives  # N- has no effect there
            assert len(negatives) == min(len(pool.negatives), cap or 10**9)

    def test_released_counts_a_premise_once_for_each_of_its_entailments(self):
        batch = labelled([(0, 1, 0), (0, 2, 0), (0, 3, 1), (4, 5, 2)])
        drawn = drawn_by(choose_contrast(batch, settled(positives=1, fidelity="released")))
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
        batch, config = labelled(random_rows(8)), settled(positives=1, negatives=2)
        torch.manual_seed(1)
        first = drawn_by(choose_contrast(again(batch), config))
        torch.manual_seed(2)
        assert drawn_by(choose_contrast(again(batch), config)) == first
        draws = [
            drawn_by(choose_contrast(replace(batch, generator=torch.Generator().manual_seed(s)), config))
            for s in range(5)
        ]
        assert any(other != first for other in draws)
