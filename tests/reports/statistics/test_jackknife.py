"""What is made of several seeds' models at once, as a sample over seeds."""

from __future__ import annotations

import numpy as np
import pytest

from reports.statistics.comparison import compare
from reports.statistics.jackknife import jackknifed
from reports.statistics.sample import Sample
from reports.statistics.spreads import NO_BORROWED_SPREAD
from tests.conftest import slow_case

RNG = np.random.default_rng(7)


def sample(values: np.ndarray, effects: np.ndarray | None = None, items: str = "items") -> Sample:
    return Sample(values, tuple(range(len(values))), effects=effects, items=items if effects is not None else "")


def averaged(scores: np.ndarray, effects: np.ndarray) -> Sample:
    """The jackknife of what is the plain mean of the seeds' scores."""
    each = [np.delete(scores, place).mean() for place in range(len(scores))]
    without = np.stack([np.delete(effects, place, axis=0).mean(axis=0) for place in range(len(scores))])
    whole = sample(scores.mean(keepdims=True), effects.mean(axis=0, keepdims=True))
    return jackknifed(whole, sample(np.array(each), without))


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_of_a_plain_mean_it_is_the_seeds_own_scores(seeds: int) -> None:
    scores, effects = RNG.normal(70, 1, seeds), RNG.normal(0, 0.1, (seeds, 40))
    made = averaged(scores, effects)
    assert made.effects is not None
    np.testing.assert_allclose(made.values, scores)
    np.testing.assert_allclose(made.effects, effects)
    assert made.seeds == tuple(range(seeds))


def test_its_mean_is_the_whole_whatever_that_is() -> None:
    made = jackknifed(sample(np.array([72.0])), sample(np.array([70.0, 71.0, 71.5])))
    assert made.mean == pytest.approx(72.0)
    assert made.effects is None
    with pytest.raises(ValueError, match="one value of all"):
        jackknifed(sample(np.array([72.0, 1.0])), sample(np.array([70.0, 71.0])))
    with pytest.raises(ValueError, match="at least two"):
        jackknifed(sample(np.array([72.0])), sample(np.array([70.0])))


def shares_called_better(studies: int, seeds: int, items: int, bend: float, rng: np.random.Generator) -> list[float]:
    """Of studies in which an average gains nothing over one seed, and in which its recipe gains nothing over a base:
    how often each is called better. An item is answered by how far the mean of the seeds' parameters lies; `bend` is
    how little of that is a straight line."""
    better = np.zeros(2)
    for _ in range(studies):
        difficulty = rng.normal(0, 30, items)
        parameters = rng.normal(0, 1, (2, seeds, 4))
        loads = rng.normal(0, 1.0, (4, items))

        def answers(model: np.ndarray, difficulty: np.ndarray = difficulty, loads: np.ndarray = loads) -> np.ndarray:
            moved = model @ loads
            return 70 + difficulty + moved + bend * (moved**3 - 3 * moved * (loads**2).sum(axis=0)) / 10

        def made(models: np.ndarray, answers=answers) -> Sample:  # type: ignore[no-untyped-def]
            rows = np.stack([answers(model) for model in models])
            means = rows.mean(axis=1)
            return sample(means, (rows - means[:, None]) / items)

        first, second = made(parameters[0]), made(parameters[1])
        left = np.stack([np.delete(parameters[0], place, axis=0).mean(axis=0) for place in range(seeds)])
        soup = jackknifed(made(parameters[0].mean(axis=0, keepdims=True)), made(left))
        for place, (other, paired) in enumerate(((first, True), (second, False))):
            low = compare(soup, other, common=NO_BORROWED_SPREAD, paired=paired, p_factor=0.5).low
            better[place] += low is not None and low > 1e-9  # of a straight line both are the same, but for rounding
    return [float(share) for share in better / studies]


@pytest.mark.parametrize(
    ("seeds", "bend", "studies"),
    [(5, 0.3, 300), *(slow_case(seeds, bend, 2000) for seeds, bend in ((2, 1.0), (3, 0.3), (5, 0.0)))],
)
def test_soups_of_equal_recipes_are_called_better_in_at_most_5_percent(seeds: int, bend: float, studies: int) -> None:
    """One-sided, at 95 %: as an answer asks."""
    rates = shares_called_better(studies, seeds, 300, bend, np.random.default_rng(seeds))
    assert max(rates) <= 0.05 + 2 * (0.05 * 0.95 / studies) ** 0.5, rates
