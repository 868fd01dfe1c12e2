"""Whether a mixture of corpora is better than the best of them alone. Rows are each corpus, and mixtures in proportion
to size, with a temperature, and in equal shares.

Each row trains on the same number of batches. The paper's scale mixes pairs of NLI with questions and their answers;
the laptop's mixes entailed pairs of scenes with questions of one class. Other corpora, and how they are read, are set
with `--nli A,B --set corpus.mix_layouts=pairs`.
"""

from __future__ import annotations

from search_spaces.shared import LAPTOP, RANKING
from search_spaces.space import Domain, Row, Space
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe

SPACES = (
    Space(
        name="data_mixtures",
        title="Is a mixture of corpora better than the best of its parts?",
        paper="no single one: by size, temperature or equal shares, one corpus a batch or all in each",
        base=Recipe().preferring(
            {
                **RANKING,
                "corpus.nli": "stanfordnlp/snli,sentence-transformers/natural-questions",
                "corpus.layout": "mix",
                "objective.name": "supcon",
                "optimisation.epochs": 5,
                "optimisation.max_steps": 2000,
            }
        ),
        evaluation=EvaluationConfig(tasks=("sts", "STSBenchmark", "TREC")),
        laptop={
            **LAPTOP,
            "corpus.mix_layouts": ("pairs", "same_label"),
            "optimisation.batch_size": 32,
            "optimisation.epochs": 20,
            "optimisation.max_steps": 100,
        },
        rows=(
            Row("first corpus alone", {"corpus.mix": "weights", "corpus.mix_weights": ("1", "0")}),
            Row("second corpus alone", {"corpus.mix": "weights", "corpus.mix_weights": ("0", "1")}),
            Row("by size", {}),
            Row("by size, temperature 3", {"corpus.mix_temperature": 3.0}),
            Row("equal", {"corpus.mix": "equal"}),
            Row("by size, in every batch", {"corpus.mix_batches": "mixed"}),
            Row("equal, in every batch", {"corpus.mix": "equal", "corpus.mix_batches": "mixed"}),
        ),
        baseline="first corpus alone",
        domains=(
            Domain("corpus.mix", choices=("size", "equal")),
            Domain(
                "corpus.mix_temperature", low=1.0, high=10.0, log=True, grid=(1.0, 3.0), when=("corpus.mix", ("size",))
            ),
            Domain("corpus.mix_batches", choices=("one", "mixed")),
            Domain("objective.temperature", low=0.02, high=0.2, log=True, grid=(0.05, 0.1)),
        ),
        goals=("sts",),
    ),
)
