"""Which two views of a text make the best positives if there are only texts: spans of the text, or dropout.

Rows see the same number of pairs of the same documents. arXiv 2508.03453 claims that cropping outperforms dropout. Its
numbers are of other tasks and encoders, so none is here. `--train documents.txt` also tries crops first.
"""

from __future__ import annotations

from search_spaces.paper import ALL_PAIRS, Claim, Row, Table
from search_spaces.published import same
from search_spaces.shared import LAPTOP, NO_TRAINING, RANKING, STS_EVALUATION, STSB, YEARS, averaged, scored
from search_spaces.space import Domain, Space
from trainables.recipe import Recipe

_WAYS = ("crops", "neighbours", "dropout")

SPACES = (
    Space(
        name="crops_or_dropout",
        title="Of text alone, are spans or dropout the better positives?",
        paper="Cropping outperforms dropout (arXiv 2508.03453), its claim alone",
        base=Recipe().preferring(
            {
                **RANKING,
                "corpus.nli": "Skylion007/openwebtext",
                "corpus.layout": "texts",
                "corpus.limit": 50_000,
            }
        ),
        evaluation=STS_EVALUATION,
        laptop={**LAPTOP, "corpus.limit": None},
        rows=(
            Row("untrained", NO_TRAINING),
            *(Row(way, {"corpus.positives_from": way}) for way in _WAYS),
        ),
        tables=(
            Table(
                number="1",
                title="Positives from text alone, on the STS tasks",
                columns=averaged(*scored(YEARS, "spearman_all"), STSB),
                rows=tuple(same(("untrained", *_WAYS)).items()),
                aggregation=ALL_PAIRS,
                topic="STS",
            ),
        ),
        claims=(Claim("Cropping outperforms dropout (title)", "1", "Avg.", better=("crops",), worse=("dropout",)),),
        baseline="untrained",
        domains=(
            Domain("corpus.positives_from", choices=_WAYS),
            Domain("objective.temperature", low=0.01, high=0.5, log=True, grid=(0.02, 0.05, 0.2)),
            Domain("optimisation.learning_rate", low=1e-5, high=1e-3, log=True, grid=(5e-5, 5e-4)),
        ),
        goals=("sts",),
    ),
)
