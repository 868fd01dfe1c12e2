"""Which loss learns most from scored pairs: CoSENT, AnglE's term on angles, or SBERT's regression on cosines.

All use the same pairs, batches and number of steps. The two ranking losses have a temperature, set as by their authors.
"""

from __future__ import annotations

from search_spaces.shared import LAPTOP
from search_spaces.space import Domain, Row, Space
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe

_RANKING = ("cosent", "angle")

SPACES = (
    Space(
        name="modern_objectives",
        title="Which loss learns most from the same scored pairs?",
        paper="no single one: CoSENT, AnglE and SBERT's regression, on STS-B",
        base=Recipe().preferring(
            {
                "encoder.name": "bert-base-uncased",
                "pooling.mode": "mean",
                "corpus.nli": "sentence-transformers/stsb",
                "corpus.layout": "scored_pairs",
                "objective.name": "cosent",
                "objective.temperature": 0.05,
                "optimisation.learning_rate": 2e-5,
                "optimisation.batch_size": 32,
                "optimisation.epochs": 4,
            }
        ),
        evaluation=EvaluationConfig(tasks=("sts", "STSBenchmark", "SICKRelatedness")),
        laptop=LAPTOP,
        rows=(
            Row("CoSENT", {}),
            Row("AnglE", {"objective.name": "angle"}),
            Row("cosine regression", {"objective.name": "cosine"}),
        ),
        baseline="cosine regression",
        domains=(
            Domain("objective.name", choices=(*_RANKING, "cosine")),
            Domain(
                "objective.temperature",
                low=0.01,
                high=0.5,
                log=True,
                grid=(0.02, 0.05, 0.2),
                when=("objective.name", _RANKING),
            ),
            Domain("optimisation.learning_rate", low=1e-5, high=1e-3, log=True, grid=(2e-5, 5e-5, 5e-4)),
        ),
        goals=("sts",),
    ),
)
