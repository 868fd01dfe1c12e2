"""A fully trained encoder. The full grid of eight domains is cheap enough to train. In contrast, `frozen_grid` trains a
network on top of a frozen encoder."""

from __future__ import annotations

from search_spaces.shared import LAPTOP, SMALL_GRID
from search_spaces.space import Domain, Row, Space
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe

_SEVERAL_POSITIVES = ("supmpn", "scl")

SPACES = (
    Space(
        name="tuned_grid",
        title="A whole encoder trained: objective, tau, lambda, P, Q, batch, pooling and learning rate",
        paper="no single one: objectives of all four",
        base=Recipe().preferring(
            {
                **SMALL_GRID,
                "optimisation.learning_rate": 5e-5,
                "optimisation.batch_size": 32,
            }
        ),
        evaluation=EvaluationConfig(tasks=("STSBenchmark",)),
        laptop=LAPTOP,
        rows=(Row("SupMPN, P 1, Q 1", {"objective.positives": 1, "objective.negatives": 1}),),
        domains=(
            Domain("objective.name", choices=("supmpn", "mnrl", "scl")),
            Domain("objective.temperature", low=0.02, high=0.3, log=True, grid=(0.02, 0.07, 0.3)),
            Domain("objective.positives", low=1, high=3, grid=(1, 3), when=("objective.name", _SEVERAL_POSITIVES)),
            Domain("objective.negatives", low=1, high=3, grid=(1, 3)),
            Domain("objective.weight", low=0.3, high=1.0, grid=(0.3, 1.0), when=("objective.name", ("scl",))),
            Domain("optimisation.batch_size", choices=(16, 32)),
            Domain("pooling.mode", choices=("mean", "max")),
            # From the rate of a large pretrained encoder to that of the small built-in one, which the grid is for.
            Domain("optimisation.learning_rate", low=2e-5, high=1e-2, log=True, grid=(3e-4, 1e-3, 3e-3, 1e-2)),
        ),
        goals=("sts",),
    ),
)
