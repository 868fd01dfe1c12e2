"""A frozen encoder with a small trained network on top. The full grid of nine domains is cheap enough to train."""

from __future__ import annotations

from search_spaces.shared import ON_SCENES, SMALL_GRID
from search_spaces.space import Domain, Row, Space
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe

_SEVERAL_POSITIVES = ("supmpn", "supcon", "scl")
_SEVERAL_NEGATIVES = ("supmpn", "mnrl", "scl")

SPACES = (
    Space(
        name="frozen_grid",
        title="A frozen encoder: objective, tau, lambda, P, Q, batch, pooling, head and learning rate",
        paper="no single one: objectives of all four, on a frozen encoder as in Qiu 2022",
        base=Recipe().preferring(
            {
                **SMALL_GRID,
                "encoder.layers": 2,
                "encoder.adapter": "mlp",
                "head.dim": 64,
                "optimisation.learning_rate": 1e-3,
                "optimisation.batch_size": 48,
            }
        ),
        evaluation=EvaluationConfig(tasks=("STSBenchmark", "CR")),
        laptop={**ON_SCENES, "encoder.layers": None},
        rows=(Row("SupMPN, P 1, Q 1", {"objective.positives": 1, "objective.negatives": 1}),),
        domains=(
            Domain("objective.name", choices=("supmpn", "supcon", "mnrl", "ntxent", "scl")),
            Domain("objective.temperature", low=0.02, high=0.3, log=True, grid=(0.02, 0.05, 0.1, 0.3)),
            Domain("objective.positives", low=1, high=3, grid=(1, 3), when=("objective.name", _SEVERAL_POSITIVES)),
            Domain("objective.negatives", low=1, high=3, grid=(1, 3), when=("objective.name", _SEVERAL_NEGATIVES)),
            Domain("objective.weight", low=0.3, high=1.0, grid=(0.3, 1.0), when=("objective.name", ("scl",))),
            Domain("optimisation.batch_size", choices=(16, 48)),
            Domain("pooling.mode", choices=("mean", "max")),
            Domain("head.kind", choices=("none", "mlp")),
            Domain("optimisation.learning_rate", low=3e-4, high=3e-3, log=True, grid=(3e-4, 1e-3, 3e-3)),
        ),
        goals=("sts", "transfer"),
    ),
)
