"""The objectives over groups against loops written from the papers' equations: values and gradients to 1e-10."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from tests.naive_groups import GROUP_ORACLES, groups_of
from tests.objective_batches import (
    DIM,
    EXACT,
    build,
    check_equal,
    check_finite,
    check_shares,
    embedded,
    fitting,
    gradients,
    grouped,
    in_precision,
    options,
    with_bank,
)
from trainables.objectives import OBJECTIVES
from trainables.objectives.contrastive import Contrastive
from trainables.objectives.distance import distance
from trainables.objectives.objective import EmbeddedBatch

NAMES = [name for name in GROUP_ORACLES if name != "mlm"]
WITH_BANK = [name for name in NAMES if issubclass(OBJECTIVES[name], Contrastive)]
MARGINS = [name for name in NAMES if name not in WITH_BANK]
FIDELITIES = ("paper", "released")
"""Released, false negatives stay; SupMPN has denominators of its own as well."""
CASES = [*((name, "paper") for name in NAMES), ("supmpn", "released")]


def config_of(name: str, fidelity: Any = "paper", **changes: Any) -> Any:
    """A temperature and a margin at which embeddings of size 5 lie on both sides."""
    return options(name, fidelity, **{"temperature": 0.3, "margin": 0.7, **changes})


def compare(batch: EmbeddedBatch, config: Any) -> None:
    objective = build(config)
    ours, theirs = objective(batch).value, GROUP_ORACLES[config.name](batch, config)
    check_equal(ours, theirs, batch, objective)


LABELS_OF_BOTH = "a text under both labels"
SHAPES: dict[str, tuple[list[int], list[tuple[int, int, int, int]]]] = {
    "one anchor": ([1, 2, 3], [(7, 0, 1, 0), (7, 0, 2, 2)]),
    "one pair": ([1, 2], [(7, 0, 1, 0)]),
    "two views": ([1, 1], [(0, 0, 1, 0)]),
    "two views of each": ([1, 2, 3, 4, 1, 2, 3, 4], [(n, n, n + 4, 0) for n in range(4)]),
    "an anchor of two groups": ([1, 2, 3, 4, 5], [(0, 0, 1, 0), (1, 0, 2, 0), (2, 3, 2, 0), (3, 4, 0, 0)]),
    LABELS_OF_BOTH: ([1, 2, 3, 4], [(0, 0, 1, 0), (0, 0, 1, 2), (0, 0, 0, 2), (1, 2, 3, 0), (1, 2, 1, 2)]),
}
"""Texts of the items, and rows of (group, premise, hypothesis, label)."""


@pytest.mark.parametrize("name", NAMES)
class TestAgainstLoops:
    @given(
        seed=st.integers(0, 10**6),
        groups=st.integers(1, 5),
        repeats=st.booleans(),
        fidelity=st.sampled_from(FIDELITIES),
        temperature=st.floats(0.1, 5),
        margin=st.floats(0.1, 5),
    )
    @example(seed=0, groups=5, repeats=True, fidelity="paper", temperature=0.3, margin=0.7)
    @example(seed=1, groups=5, repeats=True, fidelity="released", temperature=0.3, margin=0.7)
    @settings(max_examples=8)
    def test_any_shape(self, name: str, seed: int, groups: int, repeats: bool, fidelity: Any, **numbers: float):
        compare(fitting(name, seed, groups=groups, repeats=repeats), config_of(name, fidelity, **numbers))

    def test_batches_of_awkward_shapes(self, name: str):
        for shape, (texts, rows) in SHAPES.items():
            if shape == LABELS_OF_BOTH and OBJECTIVES[name].most_positives is None:
                rows = [*rows, (0, 0, 1, 0)]  # a positive twice
            for fidelity in FIDELITIES:
                compare(embedded(texts, rows), config_of(name, fidelity))


@pytest.mark.parametrize(("name", "fidelity"), CASES)
class TestEveryLoss:
    def test_neutral_rows_take_no_part(self, name: str, fidelity: Any):
        rows = [(0, 0, 1, 0), (0, 0, 2, 2), (3, 3, 4, 0), (3, 3, 5, 2)]
        batch, more = (embedded([1, 2, 3, 4, 5, 6], r) for r in (rows, [*rows, (3, 3, 2, 1)]))
        compare(more, config_of(name, fidelity))
        objective = build(config_of(name, fidelity))
        assert objective(more).value == objective(batch).value
        assert objective(more).counts == objective(batch).counts

    def test_a_batch_without_anchor_gives_0_and_is_counted(self, name: str, fidelity: Any):
        batch = embedded([1, 2, 3, 4], [(0, 0, 1, 2), (1, 2, 3, 2)])
        compare(batch, config_of(name, fidelity))
        objective = build(config_of(name, fidelity))
        loss = objective(batch)
        assert loss.value == 0
        assert dict(loss.counts) == {"anchors": 0, "positives": 0, "negatives": 0, "batches_without_anchor": 1}
        assert all((gradient == 0).all() for gradient in gradients(loss.value, batch, objective))

    def test_the_parts_of_a_team_add_up(self, name: str, fidelity: Any):
        """Also of a team with more members than anchors."""
        batch = fitting(name, 5)
        for workers in (3, 20):
            check_shares(with_bank(batch) if name in WITH_BANK else batch, build(config_of(name, fidelity)), workers)

    def test_the_group_numbers_and_the_order_of_rows_mean_nothing(self, name: str, fidelity: Any):
        batch = fitting(name, 3)
        order = torch.randperm(len(batch.label), generator=torch.Generator().manual_seed(1))
        rows = {key: getattr(batch, key)[order] for key in ("premise", "hypothesis", "label", "group")}
        other = replace(batch, **{**rows, "group": 500 - rows["group"]})
        objective = build(config_of(name, fidelity))
        torch.testing.assert_close(objective(other).value, objective(batch).value, **EXACT)

    def test_finite_whatever_the_embeddings_and_at_low_temperatures(self, name: str, fidelity: Any):
        """Tiny ones, huge ones, and where all are one."""
        batch = fitting(name, 6)
        for temperature in (0.05, 1e-6):
            objective = build(config_of(name, fidelity, temperature=temperature))
            for change in (lambda x: x * 1e-6, lambda x: x * 1e6, torch.ones_like, torch.zeros_like):
                check_finite(replace(batch, projected=change(batch.projected)), objective)

    def test_float32_is_near_float64(self, name: str, fidelity: Any):
        batch, config = fitting(name, 7), config_of(name, fidelity, temperature=0.05)
        single = build(config).float()(in_precision(batch, torch.float32)).value
        torch.testing.assert_close(single.double(), build(config)(batch).value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", WITH_BANK)
class TestMemoryBank:
    @pytest.mark.parametrize("fidelity", FIDELITIES)
    def test_against_loops(self, name: str, fidelity: Any):
        for seed in range(2):
            compare(with_bank(fitting(name, seed)), config_of(name, fidelity))

    @pytest.mark.parametrize("fidelity", FIDELITIES)
    def test_an_entry_with_the_text_of_anchor_or_positive_is_no_negative(self, name: str, fidelity: Any):
        batch = embedded([1, 2, 3], [(0, 0, 1, 0)])
        objective = build(config_of(name, fidelity))
        bank = torch.ones(2, DIM, dtype=torch.float64)
        known = replace(batch, bank=bank, bank_text=torch.tensor([1, 2]))
        assert objective(known).value == objective(batch).value
        unknown = replace(known, bank_text=torch.tensor([1, 9]))
        assert objective(unknown).value > objective(batch).value + 1e-6

    def test_a_loss_names_what_later_batches_may_contrast(self, name: str):
        """Of a later batch with new texts these are the negatives of each anchor, every one and no other."""
        objective = build(config_of(name, bank=64))
        for seed in range(2):
            batch, later = fitting(name, seed), embedded([901, 902, 903, 904], [(0, 0, 1, 0), (1, 2, 3, 0)], seed)
            contrasted = objective(batch).contrasted
            assert contrasted is not None
            vectors, texts = contrasted
            assert not vectors.requires_grad
            expected = contrasted_by_hand(name, batch)
            torch.testing.assert_close(torch.tensor(sorted(vectors.tolist())), torch.tensor(sorted(expected)), **EXACT)
            banked = objective(replace(later, bank=vectors, bank_text=texts))
            new = banked.counts["negatives"] - objective(later).counts["negatives"]
            assert new == len(expected) * banked.counts["anchors"]


def test_a_mean_of_positives_has_its_anchor_s_text():
    batch = embedded([1, 2, 3, 4, 5], [(0, 0, 1, 0), (0, 0, 2, 0), (1, 3, 4, 0)])
    contrasted = build(config_of("ntxent", bank=64))(batch).contrasted
    assert contrasted is not None
    assert contrasted[1].tolist() == [1, 4, 1, 5]


def contrasted_by_hand(name: str, batch: EmbeddedBatch) -> list[list[float]]:
    """NT-Xent: an anchor and the mean of its positives; the others: positives, and hard negatives where it has any."""
    vectors = []
    for group in groups_of(batch):
        positives = [batch.projected[i] for i in group.positives]
        if name == "ntxent":
            vectors += [batch.projected[group.anchor], sum(positives) / len(positives)] if positives else []
        else:
            hard = group.negatives if OBJECTIVES[name].most_negatives != 0 else []
            vectors += [*positives, *(batch.projected[i] for i in hard)]
    return [vector.tolist() for vector in vectors]


class TestTheComparisonCanFail:
    """A wrong number, a lost false negative, bank entry, positive or negative makes it fail."""

    def differ(self, batch: EmbeddedBatch, config: Any, other: EmbeddedBatch, wrong: Any) -> None:
        ours, theirs = build(config)(batch).value, GROUP_ORACLES[config.name](other, wrong)
        assert abs(ours - theirs) > 1e-6

    @pytest.mark.parametrize("name", NAMES)
    def test_numbers(self, name: str):
        batch, config = fitting(name, 2), config_of(name)
        change = {"margin": 0.701} if name in MARGINS else {"temperature": 0.301}
        self.differ(batch, config, batch, replace(config, **change))

    @pytest.mark.parametrize("name", NAMES)
    def test_false_negatives(self, name: str):
        rows = [(0, 0, 1, 0), (0, 0, 2, 0), (0, 0, 2, 2), (0, 0, 6, 2), (3, 3, 1, 0), (3, 3, 5, 2)]
        if OBJECTIVES[name].most_positives == 1:
            rows.remove((0, 0, 2, 0))
        batch = embedded([1, 2, 3, 4, 5, 6, 7], rows)
        for known, other in (("mask", "keep"), ("keep", "mask")):
            config = config_of(name, margin=5.0, false_negatives=known)
            self.differ(batch, config, batch, replace(config, false_negatives=other))

    def test_supmpn_released_differs_by_the_left_out_positives_alone(self):
        batch = grouped(4, repeats=False)
        paper, released = config_of("supmpn"), config_of("supmpn", own_positives="score_zero")
        self.differ(batch, paper, batch, released)
        single = grouped(4, positives=1, repeats=False)
        assert build(paper)(single).value == build(released)(single).value

    @pytest.mark.parametrize("name", WITH_BANK)
    def test_bank(self, name: str):
        batch, config = fitting(name, 2), config_of(name)
        self.differ(with_bank(batch), config, batch, config)

    @pytest.mark.parametrize("name", NAMES)
    def test_one_row_less(self, name: str):
        batch, config = fitting(name, 2, repeats=False), config_of(name, margin=5.0)
        row = int((batch.label == 0).nonzero()[0])
        kept = torch.arange(len(batch.label)) != row
        rows = {key: getattr(batch, key)[kept] for key in ("premise", "hypothesis", "label", "group")}
        self.differ(batch, config, replace(batch, **rows), config)


def cosines(a: Tensor, b: Tensor) -> Tensor:
    return F.cosine_similarity(a.unsqueeze(1), b.unsqueeze(0), dim=2)


FILTERED = [
    {"false_negatives": "guide"},
    {"false_negatives": "guide", "filter_margin": -0.3},
    {"false_negatives": "guide", "filter_margin": 0.4, "filter_by": "relative"},
    {"false_negatives": "self"},
    {"false_negatives": "self", "filter_margin": -0.2, "filter_by": "relative"},
]


@pytest.mark.parametrize("changes", FILTERED)
@pytest.mark.parametrize("name", WITH_BANK)
def test_what_scores_take_from_the_negatives(name: str, changes: dict[str, Any]):
    """By a guide, and by the model itself, which judges the entries of a bank too."""
    config, taken = config_of(name, **changes), 0
    for seed in (5, 8):
        batch = fitting(name, seed)
        compare(batch, config)
        plain, counts = (build(each)(batch).counts for each in (config_of(name), config))
        assert counts["negatives"] + counts["filtered_negatives"] == plain["negatives"]
        taken += int(counts["filtered_negatives"])
    assert taken > 0
    if changes["false_negatives"] == "self" and name != "ntxent":
        compare(with_bank(batch), config)


class TestEveryTextAnAnchor:
    """SupCon with `contrast="all"`."""

    @pytest.mark.parametrize("known", ["mask", "keep", "guide", "self"])
    def test_against_loops(self, known: str):
        config = config_of("supcon", contrast="all", false_negatives=known)
        compare(fitting("supcon", 0), config)
        compare(fitting("supcon", 1) if known == "guide" else with_bank(fitting("supcon", 1)), config)


class TestAsOtherPeopleWriteThem:
    """On batches without repeats the losses are the usual one-liners over matrices."""

    pairs = tuple((n, n, n + 4, 0) for n in range(4))
    triples = pairs + tuple((n, n, n + 8, 2) for n in range(4))

    def test_ntxent_is_simclr(self):
        batch = embedded(list(range(8)), list(self.pairs))
        scores = cosines(batch.projected, batch.projected) / 0.1
        scores = scores.masked_fill(torch.eye(8, dtype=torch.bool), -torch.inf)
        expected = F.cross_entropy(scores, (torch.arange(8) + 4) % 8)
        torch.testing.assert_close(build(config_of("ntxent", temperature=0.1))(batch).value, expected, **EXACT)

    @pytest.mark.parametrize("name", ["simcse", "supcon"])
    def test_unsupervised_simcse_is_cross_entropy_over_second_views(self, name: str):
        batch = embedded([0, 1, 2, 3, 0, 1, 2, 3], list(self.pairs))
        expected = F.cross_entropy(cosines(batch.projected[:4], batch.projected[4:]) / 0.05, torch.arange(4))
        torch.testing.assert_close(build(config_of(name, temperature=0.05))(batch).value, expected, **EXACT)

    def test_counts(self):
        batch = embedded(list(range(12)), list(self.triples))
        expected = {
            "ntxent": (8, 8, 8 * 6),
            "mnrl": (4, 4, 4 * (3 + 4)),
            "supcon": (4, 4, 4 * 3),
            "triplet": (4, 4, 4),
            "batch_all": (8, 8, 8 * 6 + 4),
        }
        for name, counted in expected.items():
            counts = build(config_of(name))(batch).counts
            assert tuple(counts[each] for each in ("anchors", "positives", "negatives")) == counted
            assert counts["batches_without_anchor"] == 0


class TestDistance:
    @given(seed=st.integers(0, 10**6), n=st.integers(0, 40), m=st.integers(0, 40), shift=st.sampled_from((0.0, 100.0)))
    def test_it_is_the_plain_formula_in_value_and_gradient(self, seed: int, n: int, m: int, shift: float):
        random = torch.Generator().manual_seed(seed)
        a, b = (torch.randn(k, 3, generator=random, dtype=torch.float64) + shift for k in (n, m))
        b[: min(n, m) // 2] = a[: min(n, m) // 2]
        expected = torch.randn(n, m, generator=random, dtype=torch.float64)
        a, b = a.requires_grad_(), b.requires_grad_()
        plain = (a.unsqueeze(1) - b).pow(2).sum(dim=2)
        plain = plain.where(plain > 0, 1.0).sqrt() * (plain > 0)
        torch.testing.assert_close(distance(a, b), plain, **EXACT)
        gradients_of = torch.autograd.grad(distance(a, b), (a, b), expected)
        for mine, theirs in zip(gradients_of, torch.autograd.grad(plain, (a, b), expected), strict=True):
            torch.testing.assert_close(mine, theirs, **EXACT)

    def test_is_exact_between_near_points_far_from_the_origin(self):
        """What goes wrong by |a|² + |b|² - 2ab, which torch's `cdist` takes for large matrices."""
        points = torch.full((40, 3), 1000.0)
        moved = points + 0.0625
        expected = torch.full((40, 40), 3**0.5 / 16)
        torch.testing.assert_close(distance(points, moved), expected)
        naive = torch.cdist(points, moved, compute_mode="use_mm_for_euclid_dist")
        assert (naive - expected).abs().max() > 1e-2


def test_random_batches_hold_the_awkward_cases():
    batches = [grouped(seed) for seed in range(6)]
    sizes = {len(group.positives) for batch in batches for group in groups_of(batch)}
    assert sizes == {0, 1, 2, 3}
    assert any(len(batch.text.unique()) < len(batch.text) for batch in batches)  # second views
