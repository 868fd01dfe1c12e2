"""Which candidates of a batch should not be negatives: none, equal texts, or texts that score too high.

Scores are those of a frozen guide (GISTEmbed) or of the trained model itself (Qwen3-Embedding). Set your own guide with
`--set objective.guide=MODEL`. The laptop's built-in guide is not trained. The grammar of the laptop's corpus knows the
true false negatives: the report shows which of them each row filtered.
"""

from __future__ import annotations

from search_spaces.shared import LAPTOP, RANKING, STS_EVALUATION
from search_spaces.space import Domain, Row, Space
from trainables.recipe import SCENES_ENCODER, Recipe

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
        evaluation=STS_EVALUATION,
        laptop={**LAPTOP, "objective.guide": SCENES_ENCODER},
        rows=(
            Row("every candidate", {"objective.false_negatives": "keep"}),
            Row("equal texts masked", {"objective.false_negatives": "mask"}),
            Row("guide", {}),
            Row("guide, margin -0.1", {"objective.filter_margin": -0.1}),
            Row("guide, 95 % of the positive", {"objective.filter_margin": -0.05, "objective.filter_by": "relative"}),
            Row("itself, margin 0.1", {"objective.false_negatives": "self"}),
            Row("itself, margin 0", {"objective.false_negatives": "self", "objective.filter_margin": 0.0}),
        ),
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
