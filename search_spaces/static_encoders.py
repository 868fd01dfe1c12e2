"""What is lost without a transformer: a sentence is the mean of its trained token vectors, initialised in several ways.

Rows see the same pairs in the same batches, each with a suitable learning rate. A static encoder is many times faster
to train and use. It could train on more pairs in the same time, but here all rows train on the same pairs.
"""

from __future__ import annotations

from search_spaces.paper import Overrides
from search_spaces.shared import LAPTOP, RANKING, STS_EVALUATION
from search_spaces.space import Domain, Row, Space
from trainables.recipe import Recipe

_LEARNED: Overrides = {"encoder.kind": "static", "optimisation.learning_rate": 0.01}
_DRAWN: Overrides = {"encoder.kind": "static", "encoder.start": "random", "optimisation.learning_rate": 0.2}

SPACES = (
    Space(
        name="static_encoders",
        title="How much does an encoder lose that is no transformer, but a mean of token vectors?",
        paper="no single one: static embeddings (model2vec, wordllama), with multiple negatives ranking",
        base=Recipe().preferring(RANKING),
        evaluation=STS_EVALUATION,
        laptop=LAPTOP,
        rows=(
            Row("transformer", {}),
            Row("its word embeddings, untrained", {"encoder.kind": "static", "optimisation.epochs": 0}),
            Row("from its word embeddings", _LEARNED),
            Row("from drawn vectors", _DRAWN),
            Row("from drawn vectors, 1,024 numbers", {**_DRAWN, "encoder.dim": 1024}),
            Row("from drawn vectors, at 128, 64 and 32, too", {**_DRAWN, "objective.dims": ("128", "64", "32")}),
            Row("from wordllama's vectors", {**_LEARNED, "encoder.name": "wordllama"}, needs="checkpoint"),
        ),
        baseline="transformer",
        domains=(
            Domain("encoder.kind", choices=("static", "transformer")),
            Domain("encoder.start", choices=("weights", "random")),
            Domain("encoder.dim", choices=(128, 256, 1024)),
            Domain("objective.temperature", low=0.01, high=0.5, log=True, grid=(0.02, 0.05, 0.2)),
            Domain("optimisation.learning_rate", low=1e-5, high=0.5, log=True, grid=(5e-5, 5e-4, 0.01, 0.2)),
        ),
        goals=("sts",),
    ),
)
