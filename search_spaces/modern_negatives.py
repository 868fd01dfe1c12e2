"""Which negatives teach most: texts of other pairs, labelled contradictions, or similar texts that an encoder found.

All rows learn from the same entailed pairs, with the same batch size and number of steps. With hard negatives each
premise occurs once in an epoch, with one of its entailed sentences and one negative. Negatives are mined by the
original encoder, by a guide, or repeatedly by the encoder while it trains. A guide also masks negatives of a batch
that are nearer than the positive (GISTEmbed). The laptop's built-in guide is not trained, and only shows how a study
runs. To use a guide of your own in the rows that have a guide: `--only 'in-batch*' --only '*a guide' --set
corpus.mined_by=FOLDER --set objective.guide=FOLDER`.

No paper prints a comparable table: NV-Retriever (arXiv 2407.15831) prints retrieval scores, with other encoders, while
the tasks here are STS. GISTEmbed's published numbers are in `modern_published`.
"""

from __future__ import annotations

from search_spaces.paper import Overrides
from search_spaces.shared import LAPTOP, RANKING, STS_EVALUATION
from search_spaces.space import Domain, Row, Space
from trainables.recipe import SCENES_ENCODER, Recipe

_GUIDE = "sentence-transformers/all-MiniLM-L6-v2"
_IN_BATCH: Overrides = {"corpus.layout": "pairs"}
_MASKED: Overrides = {"objective.false_negatives": "guide"}
_MINED: Overrides = {"corpus.negatives_from": "mined", "corpus.mined_by": None, "corpus.mined_every": None}

SPACES = (
    Space(
        name="modern_negatives",
        title="Which negatives teach most, for the same pairs and number of steps?",
        paper="no single one: NV-Retriever's mining, GISTEmbed's masks, SimCSE's contradictions",
        base=Recipe().preferring(
            {
                **RANKING,
                "corpus.layout": "groups",
                "corpus.mined_by": _GUIDE,
                "corpus.mined_every": 500,
                "objective.positives": 1,
                "objective.negatives": 1,
                "objective.guide": _GUIDE,
                "optimisation.max_steps": 2000,
            }
        ),
        evaluation=STS_EVALUATION,
        laptop={
            **LAPTOP,
            "corpus.mined_by": SCENES_ENCODER,
            "corpus.mined_every": 10,
            "objective.guide": SCENES_ENCODER,
            "optimisation.epochs": 3,
            "optimisation.max_steps": 30,
        },
        rows=(
            Row("in-batch only", _IN_BATCH),
            Row("labelled contradictions", {}),
            Row("mined by the base", _MINED),
            Row("mined by a guide", {"corpus.negatives_from": "mined", "corpus.mined_every": None}),
            Row("mined anew", {"corpus.negatives_from": "mined", "corpus.mined_by": None}),
            Row("in-batch, guided masks", {**_IN_BATCH, **_MASKED}),
            Row("mined by the base, guided masks", {**_MINED, **_MASKED}),
        ),
        baseline="in-batch only",
        domains=(
            Domain("corpus.negatives_from", choices=("labels", "mined")),
            Domain("objective.negatives", choices=(1, 3)),
            Domain("corpus.mined_skip", choices=(0, 5, 20), when=("corpus.negatives_from", ("mined",))),
            Domain("corpus.mined_margin", choices=(0.0, 0.05, 0.2), when=("corpus.negatives_from", ("mined",))),
            Domain("objective.false_negatives", choices=("mask", "guide")),
            Domain("optimisation.learning_rate", low=1e-5, high=1e-3, log=True, grid=(2e-5, 5e-5, 5e-4)),
        ),
        goals=("sts",),
    ),
)
