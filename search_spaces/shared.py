"""What many spaces have in common: a base recipe that ranks negatives over pairs of NLI, that of small
grids, and the laptop's scale."""

from __future__ import annotations

from search_spaces.paper import Overrides
from trainables.recipe import SCENES, SCENES_ENCODER

RANKING: Overrides = {
    "encoder.name": "bert-base-uncased",
    "pooling.mode": "mean",
    "corpus.nli": "stanfordnlp/snli,nyu-mll/multi_nli",
    "corpus.layout": "pairs",
    "objective.name": "mnrl",
    "objective.temperature": 0.05,
    "optimisation.learning_rate": 5e-5,
    "optimisation.batch_size": 128,
}
LAPTOP: Overrides = {
    "encoder.name": SCENES_ENCODER,
    "corpus.nli": SCENES,
    "evaluation.senteval": SCENES,
    "evaluation.protocol": "fast",
    "optimisation.learning_rate": 5e-4,
}
SMALL_GRID: Overrides = {
    "encoder.name": "sentence-transformers/all-MiniLM-L6-v2",
    "pooling.mode": "mean",
    "corpus.nli": "stanfordnlp/snli",
    "corpus.layout": "groups",
    "objective.name": "supmpn",
    "objective.weight": 1.0,
    "objective.temperature": 0.05,
    "optimisation.epochs": 10,
    "optimisation.max_steps": 48,
}
"""What the spaces have in common that are small enough to train their whole grid."""
