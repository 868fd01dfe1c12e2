"""What the whole embedding loses if its first numbers are also trained alone, so that it can be shortened to them.

The trained widths are those that the laptop's small encoder has too. All rows see the same pairs in the same batches.
The report's tables show scores of the whole embedding; a table of its own shows scores of shortened embeddings.

No paper prints a comparable table (arXiv 2205.13147 has images). sentence-transformers prints that MPNet-base, trained
so on all of NLI, keeps 98.37 % of its STS-B test correlation at 64 of 768 numbers, and 96.46 % if it was trained at the
whole width alone (https://sbert.net/examples/training/matryoshka/README.html).
"""

from __future__ import annotations

from search_spaces.shared import LAPTOP, RANKING, STS_EVALUATION
from search_spaces.space import Domain, Row, Space
from trainables.recipe import Recipe

_WIDTHS = ("64", "32", "16")

SPACES = (
    Space(
        name="matryoshka_dims",
        title="What does an embedding lose that is trained at smaller widths, too?",
        paper="no single one: Matryoshka representation learning (Kusupati 2022), with multiple negatives ranking",
        base=Recipe().preferring(RANKING),
        evaluation=STS_EVALUATION,
        laptop=LAPTOP,
        rows=(
            Row("the whole alone", {}),
            Row("and 64", {"objective.dims": _WIDTHS[:1]}),
            Row("and 64, 32, 16", {"objective.dims": _WIDTHS}),
            Row(
                "and 64, 32, 16, each counting less",
                {"objective.dims": _WIDTHS, "objective.dims_weights": ("0.5", "0.25", "0.125")},
            ),
        ),
        baseline="the whole alone",
        domains=(
            Domain("objective.temperature", low=0.01, high=0.5, log=True, grid=(0.02, 0.05, 0.2)),
            Domain("optimisation.batch_size", choices=(32, 128, 512)),
        ),
        goals=("sts",),
    ),
)
