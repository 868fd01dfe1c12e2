"""Which candidates of a batch should be no negatives: none, those of the same text, or those that score too high.

Scores are those of a frozen guide (GISTEmbed) or of the trained model itself (Qwen3-Embedding). Who has a guide of
their own names it: `--set objective.guide=MODEL`. The built-in one of the laptop's scale is not trained. The grammar
of the laptop's corpus knows which candidates are truly false: the report says which of them each row caught.
"""

from __future__ import annotations

from search_spaces.paper import Overrides
from search_spaces.shared import LAPTOP, RANKING
from search_spaces.space import Domain, Row, Space
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import SCENES_ENCODER, Recipe

_ROWS: dict[str, Overrides] = {
    "every candidate": {"objective.false_negatives": "keep"},
    "equal texts masked": {"objective.false_negatives": "mask"},
    "guide": {},
    "guide, margin -0.1": {"objective.filter_margin": -0.1},
    "guide, 95 % of the positive": {"objective.filter_margin": -0.05, "objective.filter_by": "relative"},
    "itself, margin 0.1": {"objective.false_negatives": "self"},
    "itself, margin 0": {"objective.false_negatives": "self", "objective.filter_margin": 0.0},
}

SPACES = (
    Space(
        name="false_negatives",
        title="Which candidates of a batch should be no negatives?",
        paper="no single one: GISTEmbed's guide, Qwen3-Embedding's own scores, texts that are equal",
        base=Recipe().preferring(
            {
                **RANKING,
                "objective.false_negatives": "guide",
                "objective.guide": "sentence-transformers/all-MiniLM-L6-v2",
            }
        ),
        evaluation=EvaluationConfig(tasks=("sts", "STSBenchmark")),
        laptop={**LAPTOP, "objective.guide": SCENES_ENCODER},
        rows=tuple(Row(label, overrides) for label, overrides in _ROWS.items()),
        baseline="equal texts masked",
        domains=(
            Domain("objective.false_negatives", choices=("keep", "mask", "guide", "self")),
            Domain(
                "objective.filter_margin",
                low=-0.2,
                high=0.2,
                grid=(-0.1, 0.0, 0.1),
                when=("objective.false_negatives", ("guide", "self")),
            ),
            Domain("optimisation.batch_size", choices=(32, 128, 512)),
        ),
        goals=("sts",),
    ),
)
