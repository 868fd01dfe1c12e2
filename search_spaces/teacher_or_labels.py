"""Whether a student learns more from labels, or from a larger frozen encoder's embeddings of the same sentences.

All rows see the same premises, each with an entailed and a contradicted sentence, in the same batches. Labels say which
sentence is which; of a teacher's signals, only margins need that. The laptop's teacher is the untrained built-in
encoder, only to show how the study runs; `--set objective.teacher=FOLDER` names a better one. If its embeddings have
768 numbers and the student's fewer, `--set head.kind=linear --set head.dim=768` makes them comparable.
"""

from __future__ import annotations

from search_spaces.paper import Overrides
from search_spaces.shared import LAPTOP, RANKING, STS_EVALUATION
from search_spaces.space import Domain, Row, Space
from trainables.recipe import SCENES_ENCODER, Recipe

_TAUGHT: Overrides = {"objective.name": "distill"}

SPACES = (
    Space(
        name="teacher_or_labels",
        title="Does a learner get further by labels, or by a larger encoder that it imitates?",
        paper="no single one: MarginMSE (Hofstaetter 2020), KL over the batch (Lin 2020), beside negatives ranking",
        base=Recipe().preferring(
            {
                **RANKING,
                "encoder.name": "distilbert-base-uncased",
                "corpus.layout": "groups",
                "objective.positives": 1,
                "objective.negatives": 1,
                "objective.teacher": "sentence-transformers/all-mpnet-base-v2",
            }
        ),
        evaluation=STS_EVALUATION,
        laptop={
            **LAPTOP,
            "encoder.kind": "static",
            "objective.teacher": SCENES_ENCODER,
            "optimisation.learning_rate": 0.01,
        },
        rows=(
            Row("labels", {}),
            Row("teacher's similarities", _TAUGHT),
            Row("teacher's margins", {**_TAUGHT, "objective.matches": "margins"}),
            Row("teacher's embeddings", {**_TAUGHT, "objective.matches": "embeddings"}),
        ),
        baseline="labels",
        domains=(
            Domain("objective.name", choices=("mnrl", "distill")),
            Domain("objective.matches", choices=("similarities", "margins", "embeddings")),
            Domain("objective.temperature", low=0.01, high=0.5, log=True, grid=(0.02, 0.05, 0.2)),
            Domain("optimisation.learning_rate", low=1e-5, high=0.1, log=True, grid=(5e-5, 5e-4, 0.01)),
        ),
        goals=("sts",),
    ),
)
