"""Effects of test items, held against a jackknife and a bootstrap that compute the figures anew."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from tests.conftest import slow_case
from trainables.senteval.effects import accuracy_effects, correlation_effects, f1_effects

Array = np.ndarray
SIZES = [40, 150, 310]


def pairs(seed: int, sizes: list[int] = SIZES) -> tuple[Array, Array, Array]:
    """Gold scores in steps of 0.2 as in STS, with many ties, and two encoders' cosines that are much alike."""
    random = np.random.default_rng(seed)
    gold = np.concatenate([np.round(random.uniform(low, 5, size) * 5) / 5 for low, size in enumerate(sizes)])
    shared = gold + random.normal(0, 1.2, len(gold)) * (0.5 + gold / 5)
    return gold, shared + random.normal(0, 0.6, len(gold)), shared**2 / 5 + random.normal(0, 0.6, len(gold))


def f1(predicted: Array, gold: Array) -> float:
    return 2 * (predicted * gold).sum() / (predicted.sum() + gold.sum())


def figure(kind: str, how: str) -> Callable[[Array, Array, list[int]], float]:
    """A correlation as SentEval's scores define it, in points, by scipy."""
    correlation = spearmanr if kind == "spearman" else pearsonr

    def score(predicted: Array, gold: Array, sizes: list[int]) -> float:
        if how == "all":
            return 100 * correlation(predicted, gold).statistic
        ends = np.cumsum(sizes)[:-1]
        parts = [
            correlation(p, g).statistic for p, g in zip(np.split(predicted, ends), np.split(gold, ends), strict=True)
        ]
        return 100 * float(np.average(parts, weights=sizes if how == "wmean" else None))

    return score


def within(sizes: list[int], random: np.random.Generator) -> Array:
    """Items drawn anew within each sub-corpus."""
    starts = np.cumsum([0, *sizes[:-1]])
    return np.concatenate([start + random.integers(0, size, size) for start, size in zip(starts, sizes, strict=True)])


CORRELATIONS = [(kind, how) for kind in ("spearman", "pearson") for how in ("all", "mean", "wmean")]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "how"), CORRELATIONS)
def test_a_correlation_moves_as_the_jackknife_says(kind, how):
    gold, predicted, _ = pairs(1)
    effects = correlation_effects(predicted, gold, SIZES, kind=kind, aggregation=how)
    score, whole = figure(kind, how), figure(kind, how)(predicted, gold, SIZES)
    of_part = np.repeat(range(len(SIZES)), SIZES)
    chosen = np.arange(0, len(gold), 3)  # every third item
    pseudo = np.empty(len(gold))
    for item in chosen:
        kept, sizes = np.arange(len(gold)) != item, [size - (part == of_part[item]) for part, size in enumerate(SIZES)]
        if how == "wmean":  # the weights are those of the whole task
            starts = np.cumsum([0, *sizes[:-1]])
            left = [
                figure(kind, "all")(predicted[kept][a : a + n], gold[kept][a : a + n], [n])
                for a, n in zip(starts, sizes, strict=True)
            ]
            pseudo[item] = whole - np.average(left, weights=SIZES)
        else:
            pseudo[item] = whole - score(predicted[kept], gold[kept], sizes)
    effects, pseudo, of_part = effects[chosen], pseudo[chosen], of_part[chosen]
    for values in (effects, pseudo):
        for part in range(len(SIZES)):
            values[of_part == part] -= values[of_part == part].mean()
    assert np.corrcoef(effects, pseudo)[0, 1] > 0.998
    assert (effects**2).sum() == pytest.approx((pseudo**2).sum(), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "how"), [slow_case(*case, when=case not in (CORRELATIONS[2], CORRELATIONS[3])) for case in CORRELATIONS]
)
def test_the_variance_of_a_difference_is_that_of_a_paired_bootstrap(kind, how):
    sizes = [120, 200, 330]
    gold, first, second = pairs(2, sizes)
    effects = [correlation_effects(predicted, gold, sizes, kind=kind, aggregation=how) for predicted in (first, second)]
    random, score = np.random.default_rng(3), figure(kind, how)
    gaps, alone = [], []
    for _ in range(300):
        drawn = within(sizes, random)
        scores = [score(predicted[drawn], gold[drawn], sizes) for predicted in (first, second)]
        gaps.append(scores[0] - scores[1])
        alone.append(scores[0])
    paired = float(((effects[0] - effects[1]) ** 2).sum())
    assert paired == pytest.approx(np.var(gaps), rel=0.2)
    assert (effects[0] ** 2).sum() == pytest.approx(np.var(alone), rel=0.2)
    # Negative control: without pairing the variance is another one.
    assert sum(float((effect**2).sum()) for effect in effects) > 2 * np.var(gaps)


def test_ranks_that_move_are_part_of_a_spearman_correlation():
    """Negative control: Pearson's influence on fixed mid-ranks gives a wrong variance."""
    from scipy.stats import rankdata

    random = np.random.default_rng(4)
    gold = random.normal(size=400)
    predicted = gold**3 + random.normal(0, 0.3, 400)
    right = (correlation_effects(predicted, gold) ** 2).sum()
    wrong = (correlation_effects(rankdata(predicted), rankdata(gold), kind="pearson") ** 2).sum()
    drawn = [within([400], random) for _ in range(400)]
    bootstrap = np.var([100 * spearmanr(predicted[draw], gold[draw]).statistic for draw in drawn])
    assert right == pytest.approx(bootstrap, rel=0.25)
    assert abs(wrong / bootstrap - 1) > 0.4


def test_sub_corpora_keep_their_sizes():
    """Negative control: an `all` score resampled over all items at once varies more than within sub-corpora."""
    random = np.random.default_rng(5)
    sizes = [50, 550]
    gold = np.concatenate([random.normal(0, 1, 50), random.normal(8, 1, 550)])
    predicted = gold + random.normal(0, 1, 600) + np.repeat([3.0, 0.0], sizes)
    stratified = (correlation_effects(predicted, gold, sizes, kind="pearson") ** 2).sum()
    together = (correlation_effects(predicted, gold, None, kind="pearson") ** 2).sum()
    score = figure("pearson", "all")
    drawn = [within(sizes, random) for _ in range(400)]
    bootstrap = np.var([score(predicted[draw], gold[draw], sizes) for draw in drawn])
    assert stratified == pytest.approx(bootstrap, rel=0.2)
    assert together > 1.4 * stratified


def test_accuracy_and_f1():
    random = np.random.default_rng(6)
    gold = (random.random(400) < 0.6).astype(int)
    predicted = np.where(random.random(400) < 0.8, gold, 1 - gold)
    hits = predicted == gold
    assert (accuracy_effects(hits) ** 2).sum() == pytest.approx(100**2 * hits.var(ddof=1) / 400)
    draws = [random.integers(0, 400, 400) for _ in range(1000)]
    bootstrap = np.var([100 * f1(predicted[draw], gold[draw]) for draw in draws])
    assert (f1_effects(predicted, gold) ** 2).sum() == pytest.approx(bootstrap, rel=0.15)
    left_out = np.array([f1(np.delete(predicted, item), np.delete(gold, item)) for item in range(400)])
    assert np.corrcoef(f1_effects(predicted, gold), left_out)[0, 1] < -0.999


def test_folds_widen_the_variance_as_nadeau_and_bengio_say():
    hits = np.random.default_rng(7).random(500) < 0.7
    ratio = (accuracy_effects(hits, folds=10) ** 2).sum() / (accuracy_effects(hits) ** 2).sum()
    assert ratio == pytest.approx(1 + 10 * 50 / 450)


def test_degenerate_predictions_have_no_effects():
    gold = np.arange(10.0)
    assert not correlation_effects(np.ones(10), gold).any()
    assert not correlation_effects(np.ones(10), gold, [1, 9], kind="pearson", aggregation="mean").any()
    assert not f1_effects(np.zeros(10), np.zeros(10)).any()
    assert not accuracy_effects(np.ones(10)).any()


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="10 predictions and 10 gold scores in parts of 9"):
        correlation_effects(np.arange(10), np.arange(10), [4, 5])
