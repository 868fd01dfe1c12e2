"""The objectives over scored pairs against loops written from the papers' equations: values and gradients to 1e-10."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.naive_scored import SCORED_ORACLES
from tests.objective_batches import build, check_equal, check_finite, embedded, options
from trainables.objectives.objective import EmbeddedBatch


def scored(scores: list[float], seed: int = 0, scale: float = 1.0) -> EmbeddedBatch:
    """Pairs of texts of their own, each with its score."""
    count = len(scores)
    batch = embedded(list(range(2 * count)), [(n, n, count + n, 1) for n in range(count)], seed, scale)
    return replace(batch, score=torch.tensor(scores))


CASES = {
    "of all kinds": [0.2, 0.9, 0.4, 0.4, 1.0, 0.0, 0.9],
    "two": [0.0, 1.0],
    "all alike": [0.5, 0.5, 0.5],
    "one": [0.3],
}


@pytest.mark.parametrize("name", SCORED_ORACLES)
class TestEachLoss:
    def test_against_loops(self, name: str):
        config = options(name, temperature=0.3)
        objective = build(config)
        shared = embedded([0, 1, 2], [(0, 0, 1, 1), (1, 0, 2, 1), (2, 1, 2, 1)])  # a sentence of two pairs
        batches = [scored(scores, seed=number) for number, scores in enumerate(CASES.values())]
        for batch in [*batches, replace(shared, score=torch.tensor([0.1, 0.5, 0.9]))]:
            ours, theirs = objective(batch).value, SCORED_ORACLES[name](batch, config)
            check_equal(ours, theirs, batch, objective)

    def test_finite_at_a_low_temperature(self, name: str):
        check_finite(scored(CASES["of all kinds"], scale=100.0), build(options(name, temperature=0.005)))


@pytest.mark.parametrize("name", ["cosent", "angle"])
def test_only_the_order_of_scores_counts(name: str):
    objective = build(options(name, temperature=0.3))
    fives = [5 * score for score in CASES["of all kinds"]]
    first, other = (objective(scored(scores)).value for scores in (CASES["of all kinds"], fives))
    assert first == other
