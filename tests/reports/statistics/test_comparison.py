"""One recipe against another: hand-made cases, scipy and statsmodels as oracles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import stdtrit

from reports.statistics.comparison import WARY, compare
from reports.statistics.equivalence import p_above, p_below, tost
from reports.statistics.sample import Sample
from reports.statistics.spreads import NO_COMMON_SPREAD, common_spread

Array = np.ndarray


def sample(values: list[float], effects: Array | None = None, fixed: bool = False, items: str = "a") -> Sample:
    return Sample(np.array(values), tuple(range(len(values))), fixed, effects, items if effects is not None else "")


def effects(seeds: int, seed: int, items: int = 400, own: float = 0.5) -> Array:
    random = np.random.default_rng(seed)
    return (random.normal(0, 30, items) + random.normal(0, own * 30, (seeds, items))) / items


def test_seeds_alone_give_welchs_error():
    first, second = sample([60.1, 61.0, 62.7]), sample([58.0, 58.1, 58.4, 57.9])
    comparison, scipys = compare(first, second), stats.ttest_ind(first.values, second.values, equal_var=False)
    assert comparison.basis == "seeds only"
    assert comparison.gain / math.sqrt(comparison.error.variance) == pytest.approx(scipys.statistic)
    assert comparison.items_variance is None
    # Degrees are Satterthwaite's with the spread over fewer seeds counted as somewhat larger.
    parts = [(side.std**2 / side.count * (1 + WARY / (side.count - 1)), side.count - 1) for side in (first, second)]
    freedom = sum(part for part, _ in parts) ** 2 / sum(p**2 / f for p, f in parts)
    assert comparison.error.freedom == pytest.approx(freedom)


def test_the_wider_of_two_intervals_counts():
    """Two recipes alone: each spread has its own Student's t, and that is the wider one."""
    first, second = sample([60.1, 61.0, 62.7]), sample([58.0, 58.1, 58.4, 57.9])
    comparison = compare(first, second)
    for alpha in (0.5, 0.05, 0.001):
        own = [stats.t.ppf(1 - alpha / 2, side.count - 1) ** 2 * side.std**2 / side.count for side in (first, second)]
        wary = stats.t.ppf(1 - alpha / 2, comparison.error.freedom) * math.sqrt(comparison.error.variance)
        assert comparison.error.half_width(alpha) == pytest.approx(max(math.sqrt(sum(own)), wary))
        assert comparison.error.p_value(comparison.error.half_width(alpha)) == pytest.approx(alpha, rel=1e-4)
    assert comparison.error.p_value(-comparison.gain) == comparison.p


def test_spreads_are_drawn_to_what_is_common():
    random = np.random.default_rng(0)
    alike = [Sample(random.normal(60, 1, 3), (0, 1, 2)) for _ in range(40)]
    common = common_spread(alike)
    assert common.variance == pytest.approx(1, rel=0.3)
    assert common.freedom > 10
    unlike = [Sample(random.normal(60, 10.0 ** (row % 3), 3), (0, 1, 2)) for row in range(40)]
    assert common_spread(unlike).freedom < 2
    quiet, base = sample([63.0, 63.01, 62.99]), sample([60.0, 61.0, 62.0])
    drawn, own = compare(quiet, base, common=common), compare(quiet, base)
    assert drawn.error.parts[0].variance > 10 * own.error.parts[0].variance  # it came out small by chance
    assert drawn.high - drawn.low < own.high - own.low  # and all the same more is known
    # Fewer than three recipes have nothing in common, nor do recipes that do not scatter at all.
    assert common_spread(alike[:2]) == common_spread([sample([60.0, 60.0])] * 5) == NO_COMMON_SPREAD


def test_what_others_are_compared_with_stands_on_its_own_spread():
    """A loud baseline among quiet rows: drawn to theirs alone it would make them all look different."""
    rows = [sample([60.0, 60.1 + row / 50, 60.2]) for row in range(20)]
    loud = sample([55.0, 59.0, 56.0])
    comparison = compare(rows[0], loud, common=common_spread([loud, *rows]))
    assert math.sqrt(comparison.error.variance) >= loud.std / math.sqrt(3)


def test_paired_seeds_are_scipys_paired_t_test():
    first, second = sample([60.1, 61.0, 62.7]), sample([59.0, 60.2, 61.1])
    comparison, scipys = compare(first, second, paired=True), stats.ttest_rel(first.values, second.values)
    assert comparison.p == pytest.approx(scipys.pvalue)
    assert (comparison.low, comparison.high) == pytest.approx(tuple(scipys.confidence_interval()))
    # Seeds are matched by their numbers, not by their places.
    shuffled = Sample(second.values[[2, 0, 1]], (2, 0, 1))
    assert compare(first, shuffled, paired=True).p == pytest.approx(comparison.p)


def test_samples_under_other_seeds_do_not_pair():
    first, second = sample([60.1, 61.0]), Sample(np.array([1.0, 2.0]), (0, 2))
    with pytest.raises(ValueError, match="same seeds"):
        compare(first, second, paired=True)
    with pytest.raises(ValueError, match="same seeds"):
        compare(first, sample([1.0, 1.0], fixed=True), paired=True)


def test_both_parts_add_up_and_what_they_share_counts_once():
    values, of_items = [[60.0, 61.0, 62.0], [58.0, 58.5, 60.0]], [effects(3, 1), effects(3, 2)]
    first, second = (sample(value, effect) for value, effect in zip(values, of_items, strict=True))
    comparison = compare(first, second)
    seeds = np.var(values[0], ddof=1) / 3 + np.var(values[1], ddof=1) / 3
    items = ((of_items[0].mean(axis=0) - of_items[1].mean(axis=0)) ** 2).sum()
    shared = sum(((matrix - matrix.mean(axis=0)) ** 2).sum() / 6 for matrix in of_items)
    assert shared > 0.1
    assert comparison.basis == "seeds and items"
    assert comparison.items_variance == pytest.approx(items)
    assert comparison.error.variance == pytest.approx(seeds + items - shared)


def test_the_error_never_falls_below_the_larger_part():
    alike = effects(3, 3, own=3.0)  # nearly everything is what each seed is right about
    first, second = sample([60.0, 60.0, 60.0], alike), sample([60.0, 60.0, 60.0], alike[:, ::-1])
    comparison = compare(first, second)
    assert comparison.error.variance == pytest.approx(comparison.items_variance)


def test_one_seed_gives_an_interval_over_items_and_no_p():
    comparison = compare(sample([60.0], effects(1, 4)), sample([58.0, 59.0], effects(2, 5)))
    assert (comparison.basis, comparison.one_seed, comparison.p) == ("items only", True, None)
    assert comparison.low < 1.5 < comparison.high
    assert tost(comparison, 100.0) is None
    without = compare(sample([60.0]), sample([58.0, 59.0]))
    assert (without.basis, without.one_seed, without.low, without.p) == ("none", True, None, None)


def test_recipes_that_no_seed_changes_are_judged_by_items():
    comparison = compare(sample([60.0], effects(1, 4), fixed=True), sample([40.0], effects(1, 5), fixed=True))
    assert (comparison.basis, comparison.one_seed) == ("items only", False)
    assert comparison.p < 1e-4
    half = compare(sample([60.0], effects(1, 4), fixed=True), sample([40.0, 41.0, 40.0], effects(3, 5)))
    assert (half.basis, half.one_seed) == ("seeds and items", False)
    assert compare(sample([60.0], fixed=True), sample([40.0], fixed=True)).basis == "none"


def test_other_items_do_not_pair():
    first, second = sample([60.0, 61.0], effects(2, 6), items="a"), sample([60.0, 61.0], effects(2, 6), items="b")
    assert compare(first, second).basis == "seeds only"
    unnamed = [Sample(side.values, side.seeds, False, side.effects, "") for side in (first, first)]
    assert compare(unnamed[0], unnamed[1]).basis == "seeds only"


def test_few_items_that_differ_leave_few_degrees():
    hits = np.zeros((2, 1000))
    hits[0, :4] = 1.0
    rare = [sample([60.0], (hits[[row]] - hits[row].mean()) / 10, fixed=True) for row in (0, 1)]
    assert compare(*rare).error.freedom < 10
    many = [sample([60.0], effects(1, seed, items=1000), fixed=True) for seed in (1, 2)]
    assert compare(*many).error.freedom > 500


def test_nothing_varies():
    same = sample([60.0, 60.0])
    comparison = compare(same, same)
    assert (comparison.low, comparison.high, comparison.p) == (0.0, 0.0, 1.0)
    assert compare(sample([61.0, 61.0]), same).p == 0.0


@pytest.mark.slow
def test_intervals_cover_where_items_and_few_seeds_both_count():
    """A hard case: one recipe's spread, of three seeds, beside items that weigh as much.

    Two recipes alone have nothing in common that helps, so theirs is a little wide. Controls: by seeds alone, and with
    Satterthwaite's own degrees, the interval covers less than it says.
    """
    random = np.random.default_rng(0)
    studies, items = 4000, 100
    covered = alone = plain = 0
    for _ in range(studies):
        luck = random.normal(0, 0.07, items)  # how much each item favours the first recipe
        values = 50 + luck.sum() + random.normal(0, 2.0, 3), 50 + random.normal(0, 0.15, 3)
        of_items = np.tile((luck - luck.mean()) * math.sqrt(items / (items - 1)), (3, 1)), np.zeros((3, items))
        first, second = (sample(list(value), effect) for value, effect in zip(values, of_items, strict=True))
        comparison, seeds_only = compare(first, second), compare(sample(list(values[0])), sample(list(values[1])))
        covered += comparison.low <= 0 <= comparison.high
        alone += seeds_only.low <= 0 <= seeds_only.high
        parts = [(side.std**2 / 3, 2) for side in (first, second)] + [(comparison.items_variance, items - 1)]
        freedom = sum(part for part, _ in parts) ** 2 / sum(part**2 / degrees for part, degrees in parts)
        plain += abs(comparison.gain) <= stdtrit(freedom, 0.975) * math.sqrt(comparison.error.variance)
    assert 0.94 <= covered / studies <= 0.98
    assert plain / studies < 0.935
    assert alone / studies < 0.94


def test_equivalence_as_statsmodels_has_it():
    weightstats = pytest.importorskip("statsmodels.stats.weightstats")
    first, second = sample([60.1, 61.0, 60.7, 60.2]), sample([60.0, 60.8, 60.9, 60.1])
    comparison = compare(first, second, paired=True)
    p, lower, upper = weightstats.ttost_paired(first.values, second.values, -0.5, 0.5)
    assert tost(comparison, 0.5) == pytest.approx(p)
    assert p_above(comparison, -0.5) == pytest.approx(lower[1])
    assert p_below(comparison, 0.5) == pytest.approx(upper[1])


def test_not_different_is_not_equal():
    """Negative control: two noisy recipes do not differ at 5 %, and are not shown to be equal either."""
    comparison = compare(sample([60.0, 64.0, 57.0]), sample([59.0, 63.0, 60.0]))
    assert comparison.p > 0.5
    assert tost(comparison, 1.0) > 0.2


def test_about_a_gain():
    comparison = compare(sample([63.0, 63.1, 62.9, 63.0]), sample([60.0, 60.1, 60.0, 59.9]))
    assert tost(comparison, 0.5, around=3.0) < 0.01
    assert tost(comparison, 0.5, around=2.0) > 0.9
    with pytest.raises(ValueError, match="leaves no room"):
        tost(comparison, 0.0)
