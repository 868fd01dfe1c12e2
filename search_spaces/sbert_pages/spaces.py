"""Spaces of two pages: a finished encoder's first layers, taught by all its layers; and a search of four settings."""

from __future__ import annotations

from pathlib import Path

from search_spaces.paper import Column, Overrides, Row, Table
from search_spaces.published import by_label, read_figures, same
from search_spaces.shared import LAPTOP, NO_TRAINING, RANKING, STS_EVALUATION, STSB
from search_spaces.space import Domain, Space
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import SCENES_ENCODER, Recipe

_FIGURES = read_figures(Path(__file__).with_name("figures.csv"))
_WHOLE = "all layers, the teacher"
_LABELS = {printed: _WHOLE if printed == "12 layers" else printed for printed in _FIGURES["1"]}
_PUBLISHED = by_label(_FIGURES, {"1": _LABELS, "2": same(_FIGURES["2"])})
_TEACHER = "sentence-transformers/stsb-roberta-base"
_BY_EXPERIENCE = "by experience"
_TRAINER: Overrides = {"optimisation.epochs": 3, "optimisation.warmup": 0.0}
"""Defaults of the Trainer, as the page prints only batch size and learning rate."""
_SEARCHED: dict[str, Overrides] = {
    "the Trainer's defaults": {**_TRAINER, "optimisation.batch_size": 8, "optimisation.learning_rate": 5e-5},
    _BY_EXPERIENCE: _TRAINER,
    "best of 20 trials": {
        "optimisation.batch_size": 84,
        "optimisation.learning_rate": 5.628e-6,
        "optimisation.warmup": 0.0146,
    },
}
_DEVELOPMENT = Column("STS-B dev", ("STSBenchmark", "dev_spearman_cosine"))


def _layers(printed: str, label: str) -> Row:
    """Return a row of the encoder's first layers, or of all its layers without training."""
    layers = int(printed.split()[0])
    changes: Overrides = {**NO_TRAINING, "encoder.layers": None} if label == _WHOLE else {"encoder.layers": layers}
    return Row(label, changes, _PUBLISHED[label])


SPACES = (
    Space(
        name="distilbert_search",
        title="What does a search of rate, batch, warm-up and passes gain over experience?",
        paper="sentence-transformers' page on hyperparameter optimisation",
        base=Recipe().preferring(
            {
                **RANKING,
                "encoder.name": "distilbert-base-uncased",
                "corpus.layout": "groups",
                "corpus.share": 0.036,
                "objective.positives": 1,
                "objective.negatives": 1,
                "optimisation.batch_size": 64,
                "optimisation.learning_rate": 2e-5,
            }
        ),
        evaluation=EvaluationConfig(tasks=("STSBenchmark",)),
        laptop={**LAPTOP, "corpus.share": 1.0},
        rows=tuple(Row(label, changes, _PUBLISHED[label]) for label, changes in _SEARCHED.items()),
        tables=(
            Table(
                number="2",
                title="Settings of a training on 10,000 triplets",
                columns=(_DEVELOPMENT,),
                rows=tuple(same(_SEARCHED).items()),
                aggregation="Spearman correlation x 100 by cosine, on the development part that the search saw",
                topic="STS",
            ),
        ),
        baseline=_BY_EXPERIENCE,
        domains=(
            Domain("optimisation.epochs", choices=(1, 2)),
            Domain("optimisation.batch_size", low=32, high=128, grid=(64,)),
            Domain("optimisation.warmup", low=0.0, high=0.3, grid=(0.1,)),
            Domain("optimisation.learning_rate", low=1e-6, high=1e-4, log=True, grid=(5e-6, 2e-5, 5e-5)),
        ),
        goals=("STSBenchmark",),
        notes=(
            "The page's 10,000 triplets are the first of a file; ours are about as many premises, drawn once.",
            "Of two rows it prints batch and rate alone: passes and warm-up are the Trainer's defaults.",
            "Its search ran once: no other seed says how far 80.28 would move.",
        ),
    ),
    Space(
        name="distilled_layers",
        title="How many layers does a finished encoder need, if all of it teaches them?",
        paper="sentence-transformers' page on distillation (Reimers 2020)",
        base=Recipe().preferring(
            {
                **RANKING,
                "encoder.name": _TEACHER,
                "encoder.layers": 4,
                "corpus.layout": "rows",
                "objective.name": "distill",
                "objective.teacher": _TEACHER,
                "objective.matches": "embeddings",
                "optimisation.learning_rate": 1e-4,
                "optimisation.batch_size": 64,
            }
        ),
        evaluation=STS_EVALUATION,
        laptop={**LAPTOP, "encoder.layers": 1, "objective.teacher": SCENES_ENCODER},
        rows=tuple(_layers(*names) for names in _LABELS.items()),
        tables=(
            Table(
                number="1",
                title="Layers kept of a finished encoder, and what they score",
                columns=(STSB,),
                rows=tuple(_LABELS.items()),
                aggregation="Spearman correlation x 100 by cosine, without a trained regressor",
                topic="STS",
            ),
        ),
        baseline=_WHOLE,
        domains=(
            Domain("objective.matches", choices=("embeddings", "similarities")),
            Domain("optimisation.learning_rate", low=1e-5, high=1e-3, log=True, grid=(1e-4,)),
        ),
        goals=("STSBenchmark",),
        notes=(
            "The page keeps layers that are spread over the encoder, ours are its first ones; its sentences are those "
            "of NLI and Wikipedia, each once, ours those of NLI.",
            "It keeps the best step by STS-B's development part, ours is the last.",
        ),
    ),
)
