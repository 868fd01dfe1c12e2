"""Power and the seeds it takes; orders of rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from reports.statistics.comparison import compare
from reports.statistics.order import kendall
from reports.statistics.power import MOST_SEEDS, Spread, fewest, least_gain, pooled_spread, power, seeds_needed
from reports.statistics.sample import Sample
from reports.statistics.spreads import NO_COMMON_SPREAD, CommonSpread


def trained(std: float, seeds: int, effects: np.ndarray | None = None) -> Sample:
    values = np.linspace(-1, 1, seeds) if seeds > 1 else np.zeros(1)
    values = 60 + (values / values.std(ddof=1) * std if seeds > 1 else values)
    of_seeds = None if effects is None else np.tile(effects, (seeds, 1))
    return Sample(values, tuple(range(seeds)), False, of_seeds, "" if effects is None else "a")


def on_items(variance: float, seed: int, items: int = 500) -> np.ndarray:
    effects = np.random.default_rng(seed).normal(size=items)
    effects -= effects.mean()
    return effects / np.sqrt((effects**2).sum()) * np.sqrt(variance)


def test_power_over_many_seeds_as_statsmodels_has_it():
    models = pytest.importorskip("statsmodels.stats.power")
    first, second = trained(1.0, 300), trained(1.0, 300)
    oracle = models.TTestIndPower().power(0.5, 20, 0.05)
    assert power(first, second, 0.5, 20) == pytest.approx(oracle, abs=0.03)
    needed = models.TTestIndPower().solve_power(0.5, power=0.8, alpha=0.05)
    assert seeds_needed(first, second, 0.5) == pytest.approx(needed, abs=2)


@pytest.mark.parametrize("common", [NO_COMMON_SPREAD, CommonSpread(1.0, 10.0)], ids=["alone", "with others"])
def test_power_is_how_often_the_comparison_finds_it(common):
    first, second = trained(1.0, 300), trained(1.0, 300)
    random, shown = np.random.default_rng(0), 0
    for _ in range(600):
        pair = [Sample(random.normal(mean, 1.0, 5), tuple(range(5))) for mean in (2.0, 0.0)]
        comparison = compare(*pair, common=common)
        shown += comparison.low > 0
    assert power(first, second, 2.0, 5, common=common) == pytest.approx(shown / 600, abs=0.06)


def test_power_grows_with_the_effect_and_with_seeds():
    first, second = trained(1.0, 3), trained(0.4, 3)
    by_effect = [power(first, second, effect, 5) for effect in (0.2, 0.5, 1.0, 3.0)]
    by_seeds = [power(first, second, 1.0, seeds) for seeds in (2, 4, 8, 16, 32)]
    assert by_effect == sorted(by_effect)
    assert by_seeds == sorted(by_seeds)
    assert power(first, second, -1.0, 5) == power(first, second, 1.0, 5)
    assert power(first, second, 1.0, 8, alpha=0.01) < power(first, second, 1.0, 8)
    assert power(first, second, 1.0, 1) == 0.0


def test_the_seeds_advised_are_the_fewest():
    first, second = trained(1.0, 4, on_items(0.01, 1)), trained(0.5, 4, on_items(0.01, 2))
    advised = seeds_needed(first, second, 1.0)
    assert power(first, second, 1.0, advised) >= 0.8 > power(first, second, 1.0, advised - 1)


@pytest.mark.parametrize(
    ("enough", "advised"), [((2, 3, 9), 2), ((3, 9), 3), ((9,), 9), ((), None)], ids=["two", "three", "nine", "none"]
)
def test_few_seeds_may_be_enough_where_more_are_not(enough: tuple[int, ...], advised: int | None):
    """To few a spread is lent: here two or three do, and then only nine or more."""
    assert fewest(lambda seeds: seeds in enough or (seeds > 9 and 9 in enough)) == advised


def test_no_number_of_seeds_helps_where_items_are_too_few():
    first, second = trained(0.5, 4, on_items(0.5, 1)), trained(0.5, 4, on_items(0.5, 2))
    assert seeds_needed(first, second, 1.0) is None
    assert seeds_needed(first, second, 4.0) is not None
    bare = [trained(0.5, 4) for _ in range(2)]
    assert seeds_needed(bare[0], bare[1], 1.0) is not None  # negative control: by seeds alone it would seem so


def test_the_least_gain_is_what_very_many_seeds_would_show():
    first, second = trained(0.5, 4, on_items(0.5, 1)), trained(0.5, 4, on_items(0.5, 2))
    least = least_gain(first, second)
    assert power(first, second, least, MOST_SEEDS) == pytest.approx(0.8, abs=0.01)
    assert power(first, second, 0.8 * least, MOST_SEEDS) < 0.7  # negative control
    assert least_gain(first, second, alpha=0.01) > least
    more = [trained(0.5, 4, np.tile(on_items(0.5, seed), 4) / 4) for seed in (1, 2)]  # the same items four times
    assert least_gain(*more) == pytest.approx(least / 2, rel=0.01)
    assert least_gain(trained(0.5, 4), trained(0.5, 4)) is None


def test_one_seed_plans_by_the_spread_of_others():
    single, others = trained(0.0, 1), [trained(1.0, 3), trained(3.0, 2), trained(0.0, 1)]
    with pytest.raises(ValueError, match="spread of other rows"):
        seeds_needed(single, others[0], 1.0)
    spread = pooled_spread(others)
    assert spread == Spread(pytest.approx(np.sqrt((2 * 1 + 1 * 9) / 3)), 3)
    assert pooled_spread([single]) is None
    assert seeds_needed(single, others[0], 2.0, spread=spread) is not None


def test_a_recipe_that_no_seed_changes_needs_none():
    fixed = Sample(np.array([50.0]), (0,), True, on_items(0.01, 3)[None], "a")
    other = Sample(np.array([55.0]), (0,), True, on_items(0.01, 4)[None], "a")
    assert power(fixed, other, 5.0, 1) > 0.99
    assert power(fixed, trained(0.2, 3, on_items(0.01, 5)), 5.0, 3) > 0.99


@pytest.mark.parametrize(
    ("first", "second"),
    [([3.0, 1.0, 4.0, 1.5, 5.0], [2.0, 1.0, 5.0, 3.0, 4.0]), ([1.0, 2.0, 3.0, 4.0, 4.0], [1.0, 2.0, 3.0, 5.0, 4.0])],
    ids=["no ties", "ties"],
)
def test_kendall_by_enumeration(first: list[float], second: list[float]):
    order = kendall(first, second)
    taus = [stats.kendalltau(first, shuffled).statistic for shuffled in itertools.permutations(second)]
    assert order.tau == pytest.approx(stats.kendalltau(first, second).statistic)
    assert order.p == pytest.approx(np.mean(np.abs(taus) >= order.tau - 1e-9))
    assert order.low < order.tau < order.high <= 1


def test_half_of_the_pairs_in_order_is_no_order():
    """What the old count of pairs said "by chance about half" about: a p for it."""
    random = np.random.default_rng(0)
    taus = [kendall(list(random.normal(size=12)), list(range(12))) for _ in range(300)]
    assert np.mean([order is not None and order.p <= 0.05 for order in taus]) <= 0.09
    assert np.mean([order is not None and order.low <= 0 <= order.high for order in taus]) >= 0.93


def test_orders_that_say_nothing():
    assert kendall([1.0], [2.0]) is None
    assert kendall([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None
    few = kendall([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert (few.tau, few.low) == (pytest.approx(1.0), None)
    assert few.p == pytest.approx(1 / 3)
