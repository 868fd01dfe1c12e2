"""Many rows at once: Holm, the best set, ranks, and whether rows pair by seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from reports.statistics.comparison import compare
from reports.statistics.families import Field, best_set, holm, rank_intervals
from reports.statistics.pairing import pair_by_seed, same_seeds, seed_effect_p
from reports.statistics.sample import Sample
from reports.statistics.spreads import common_spread


def row(mean: float, std: float = 0.5, seeds: int = 5, fixed: bool = False) -> Sample:
    """A row with exactly this mean and standard deviation."""
    values = np.linspace(-1, 1, seeds) if seeds > 1 else np.zeros(1)
    spread = values / values.std(ddof=1) * std if seeds > 1 else values
    return Sample(mean + spread, tuple(range(seeds)), fixed)


def scored(mean: float, items: int, seed: int, own: float = 0.2, std: float = 0.3, seeds: int = 4) -> Sample:
    """A row on items that are hard or easy for all rows, and a little for itself."""
    shared = np.random.default_rng(99).normal(0, 40, items) / items
    mine = np.random.default_rng(seed).normal(0, 40 * own, (1, items)) / items
    return Sample(row(mean, std, seeds).values, tuple(range(seeds)), False, np.tile(shared + mine, (seeds, 1)), "a")


def test_holm_as_statsmodels_has_it():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    random = np.random.default_rng(0)
    for count in (1, 2, 7, 20):
        p_values = [float(p) for p in random.random(count) ** 3]
        assert holm(p_values) == pytest.approx(list(multitest.multipletests(p_values, method="holm")[1]))


def test_holm_leaves_out_what_is_missing():
    assert holm([0.01, None, 0.04, 0.03, None]) == [pytest.approx(0.03), None, *[pytest.approx(0.06)] * 2, None]
    assert holm([]) == []


def test_the_best_set_leaves_out_who_is_surely_worse_and_ranks_are_intervals():
    field = Field.of([row(60), row(65), row(65.2), row(50)])
    assert best_set(field) == [False, True, True, False]
    assert rank_intervals(field) == [(3, 3), (1, 2), (1, 2), (4, 4)]


def test_a_row_of_one_seed_is_not_judged():
    rows = [row(60), row(90, seeds=1), row(70)]
    assert best_set(Field.of(rows)) == [False, None, True]
    assert rank_intervals(Field.of(rows)) == [(2, 2), None, (1, 1)]
    assert best_set(Field.of([row(90, seeds=1)])) == [None]
    assert rank_intervals(Field.of([])) == []
    bare = Sample(np.array([60.0]), (0,), True)
    assert best_set(Field.of([bare, row(70)])) == [None, True]  # nor is one that nothing makes uncertain


def test_a_noisy_row_stays_and_does_not_keep_the_others():
    """With one spread pooled over rows the noisy one would keep all in, or be out itself."""
    rows = [row(64.5, std=2.5), row(65.0, std=0.1), row(64.0, std=0.1), row(64.9, std=0.1)]
    assert best_set(Field.of(rows)) == [True, True, False, True]


def test_items_that_all_rows_share_do_not_blur_the_set():
    """Negative control: rows that take the items each in its own way cannot be told apart."""
    shared = [scored(60 + 3 * place, 400, place, std=0.3) for place in range(3)]
    assert best_set(Field.of(shared)) == [False, False, True]
    own = [scored(60 + 3 * place, 400, place, own=2.0, std=0.3) for place in range(3)]
    assert best_set(Field.of(own)) == [True, True, True]


def test_the_best_mean_is_always_in_the_set_and_ranks_hold_their_own():
    random = np.random.default_rng(0)
    for _ in range(20):
        rows = [
            scored(random.normal(60, 1), 200, int(random.integers(100)), std=abs(random.normal())) for _ in range(6)
        ]
        means = np.array([sample.mean for sample in rows])
        assert best_set(Field.of(rows))[int(means.argmax())] is True
        places = stats.rankdata(-means)
        assert all(
            low <= place <= high for (low, high), place in zip(rank_intervals(Field.of(rows)), places, strict=True)
        )


def test_the_same_rows_give_the_same_answer_and_equal_rows_are_equal():
    rows = [scored(60, 200, 1), scored(60, 200, 1), scored(60.1, 200, 1)]
    assert best_set(Field.of(rows)) == best_set(Field.of(rows)) == [True, True, True]
    assert rank_intervals(Field.of(rows)) == [(1, 3)] * 3
    fixed = [Sample(sample.values[:1], (0,), True, sample.effects[:1], "a") for sample in rows[:2]]
    assert best_set(Field.of(fixed)) == [True, True]


def test_bars_are_dunnetts_and_tukeys_where_these_hold():
    """Equal spreads over very many seeds: the studentised range, and the largest of correlated normals."""
    rows = 5
    field = Field.of([row(60, std=2.0, seeds=400) for _ in range(rows)])
    largest = np.max([field.by_chance(place).max(axis=1) for place in range(rows)], axis=0)
    tukey = stats.studentized_range.ppf(0.95, rows, 1e4) / math.sqrt(2)
    assert np.quantile(largest, 0.95) == pytest.approx(tukey, rel=0.03)
    against_one = np.quantile(field.by_chance(0).max(axis=1), 0.95)
    assert against_one == pytest.approx(2.16, rel=0.03)  # Dunnett's table, one-sided, 4 comparisons


def drawn(seed: int, levels: Sequence[float], spreads: Sequence[float] | float = 1.0, seeds: int = 5) -> list[Sample]:
    values = np.asarray(levels) + spreads * np.random.default_rng(seed).normal(size=(seeds, len(levels)))
    return [Sample(own, tuple(range(seeds))) for own in values.T]


@pytest.mark.slow
def test_few_of_many_equal_rows_may_be_the_best_beside_one_far_above():
    """Three standard deviations above 39 of five seeds each: with a bar for each mean by itself all 40 were left."""
    left = []
    for seed in range(12):
        rows = drawn(seed, [60.0] * 39 + [63.0])
        best = best_set(Field.of(rows, common_spread(rows)))
        assert best[-1] is True
        left.append(sum(map(bool, best)))
    assert np.median(left) < 25


@pytest.mark.slow
def test_ranks_tell_about_as_many_pairs_as_holms_tests():
    """Ten rows one standard deviation apart, five seeds: a pair is told where a lead is shown."""
    shown, by_holm = [], []
    for seed in range(20):
        rows = drawn(seed, range(10))
        common = common_spread(rows)
        shown.append(sum(10 - high for _, high in rank_intervals(Field.of(rows, common))))
        pairs = [compare(a, b, common=common, between_rows=True).p for a, b in combinations(rows, 2)]
        by_holm.append(sum(p is not None and p < 0.05 for p in holm(pairs)))
    assert np.mean(shown) > 0.95 * np.mean(by_holm)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [2, 3])
def test_a_best_row_alone_seldom_lacks_a_verdict(rows: int):
    """The set asks in one direction and a verdict in both, so they differ near the bar alone."""
    apart = 0
    for seed in range(100):
        samples = drawn(seed, [60.0] * (rows - 1) + [63.0], seeds=3)
        common = common_spread(samples)
        alone = best_set(Field.of(samples, common)) == [False] * (rows - 1) + [True]
        verdict = holm([compare(sample, samples[0], common=common).p for sample in samples[1:]])[-1]
        apart += alone and verdict is not None and verdict > 0.1
    assert apart <= 4  # of 100; by each row's own spread alone it was 9 to 32


def test_rows_far_below_do_not_raise_the_bar_for_the_rest():
    """The first step leaves them out: with them the set of the three good ones is as it is without."""
    good = [row(60), row(60.9), row(61)]
    assert best_set(Field.of(good + [row(40)] * 30))[:3] == best_set(Field.of(good)) == [False, True, True]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truths", "spreads", "seeds"),
    [
        ((0.0,) * 5, (1.0,) * 5, 3),
        ((0.0,) * 5, (2.29, 0.1, 0.15, 0.2, 0.15), 5),
        ((0.0,) * 9, (0.2, *(2.0,) * 8), 2),
        (tuple(np.arange(6.0)), (1.0,) * 6, 5),
        ((0.0,) * 4 + (-6.0,) * 4, (1.0,) * 8, 5),
    ],
    ids=["nulls", "unequal spreads", "8 scatter", "a ladder", "half far below"],
)
def test_the_set_holds_the_best_and_ranks_hold_the_truth(
    truths: tuple[float, ...], spreads: tuple[float, ...], seeds: int
):
    """At 95 %, all ranks of a study at once; of equal rows any order is true."""
    level, studies = np.array(truths), 120
    worst = 0.05 + 2.75 * math.sqrt(0.05 * 0.95 / studies)
    lost, wrong = [], []
    for study in range(studies):
        rows = drawn(1000 + study, level, spreads, seeds)
        field = Field.of(rows, common_spread(rows))
        lost.append(best_set(field)[int(level.argmax())] is False)
        ranks = np.array(rank_intervals(field))
        above, not_below = (level > level[:, None]).sum(axis=1), (level >= level[:, None]).sum(axis=1)
        wrong.append(bool((ranks[:, 0] > 1 + above).any() or (ranks[:, 1] < not_below).any()))
    assert np.mean(lost) <= worst
    assert np.mean(wrong) <= worst


def trained(rows: int, seeds: int, together: float, seed: int, spreads: tuple[float, ...] = (1.0,)) -> list[Sample]:
    random = np.random.default_rng(seed)
    common = random.normal(size=seeds)
    spread = np.resize(spreads, rows)[:, None]
    values = spread * (together * common + math.sqrt(1 - together**2) * random.normal(size=(rows, seeds)))
    return [Sample(60 + own, tuple(range(seeds)), False) for own in values]


def test_rows_pair_where_seeds_move_them_together():
    rows = trained(8, 5, together=0.95, seed=1)
    assert pair_by_seed(rows[0], rows[1:])
    shuffled = [Sample(sample.values, tuple(np.roll(sample.seeds, place)), False) for place, sample in enumerate(rows)]
    assert not pair_by_seed(shuffled[0], shuffled[1:])  # the same figures under the wrong seeds


def test_no_pairing_where_it_does_not_pay_or_cannot_be():
    rows = trained(60, 3, together=0.6, seed=4, spreads=(0.1, *(1.0,) * 59))
    assert seed_effect_p(rows) < 0.01
    assert not pair_by_seed(rows[0], rows[1:])  # it takes nothing off the spread, and costs degrees of freedom
    assert not pair_by_seed(rows[0], [])
    other = Sample(rows[1].values, (7, 8, 9, 10, 11), False)
    assert not same_seeds(rows[0], other)
    assert not pair_by_seed(rows[0], [other])
    assert not same_seeds(rows[0], Sample(rows[1].values, rows[1].seeds, True))


def test_chance_seldom_looks_like_seeds_that_move_rows_together():
    """Exact whatever the spreads: an F test of the seeds would be wrong more often than it says here."""
    shown = [seed_effect_p(trained(5, 4, together=0.0, seed=seed, spreads=(5.0, 0.1))) <= 0.05 for seed in range(300)]
    assert np.mean(shown) < 0.09


def test_several_p_of_one_test_are_one_test_with_the_largest():
    assert holm([0.01, 0.02, 0.03, None], ["a", "a", "b", "b"]) == [pytest.approx(0.04)] * 2 + [
        pytest.approx(0.04),
        None,
    ]
    assert holm([0.01, 0.01, 0.03], ["a", "a", "b"]) == [pytest.approx(0.02)] * 2 + [pytest.approx(0.03)]
