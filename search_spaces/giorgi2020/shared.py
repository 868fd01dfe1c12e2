"""Shared parts of DeCLUTR's spaces: models, columns, domains, and the recipe.

The base recipe is section 4.1 with DistilRoBERTa (DeCLUTR-small).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from search_spaces.averages import USUAL
from search_spaces.giorgi2020.averages import DEV_ALL, DEV_DOWNSTREAM, DEV_PROBING, DOWNSTREAM, PROBING
from search_spaces.paper import Average, Column, Need, Overrides, Row
from search_spaces.published import read_figures
from search_spaces.shared import needed
from search_spaces.space import Domain
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import SCENES, SCENES_ENCODER, Recipe

PAPER = 'Giorgi et al. 2020, "DeCLUTR: Deep Contrastive Learning for Unsupervised Textual Representations"'
FIGURES = read_figures(Path(__file__).with_name("figures.csv"))
SMALL, BASE = "DeCLUTR-small", "DeCLUTR-base"
UNTRAINED = "Transformer-small"
AVERAGES = ("Downstream", "Probing", "Avg.")

# The "Parameters" and "Embed. dim." columns of Tables 1, S1 and S5; None is printed as a dash.
SIZES: dict[str, tuple[str | None, int]] = {
    "GloVe": (None, 300),
    "fastText": (None, 300),
    "InferSent": ("38M", 4096),
    "USE": ("147M", 512),
    "Sentence Transformers": ("125M", 768),
    UNTRAINED: ("82M", 768),
    "Transformer-base": ("125M", 768),
    SMALL: ("82M", 768),
    BASE: ("125M", 768),
    "BERT-base": ("110M", 768),
    "BERT-large": ("350M", 1024),
    "ALBERT-base-V2": ("11M", 768),
    "RoBERTa-base": ("125M", 768),
    "RoBERTa-large": ("355M", 1024),
}
HUB = {
    "BERT-base": "bert-base-uncased",
    "BERT-large": "bert-large-uncased",
    "ALBERT-base-V2": "albert-base-v2",
    "RoBERTa-base": "roberta-base",
    "RoBERTa-large": "roberta-large",
}

LARGER_MODEL: Overrides = {"encoder.kind": "transformer", "encoder.name": HUB["RoBERTa-base"]}
"""Settings that turn the base recipe, DeCLUTR-small, into DeCLUTR-base."""
NOTES = {
    "GloVe": "averaged word vectors without training (the paper's are glove.840B.300d); needs --word-vectors",
    "fastText": "averaged word vectors without training (the paper's are crawl-300d-2M); needs a file of its own by "
    "--evaluate",
    "InferSent": "version 2, on fastText vectors",
    "USE": "Google's Universal Sentence Encoder, the fifth large model",
    "Sentence Transformers": "RoBERTa-base, fine-tuned on NLI",
    UNTRAINED: "DistilRoBERTa before training",
    "Transformer-base": "RoBERTa-base before training",
    SMALL: f"--evaluate '{SMALL}=johngiorgi/declutr-small' evaluates the authors' own checkpoint in its place",
    BASE: f"--evaluate '{BASE}=johngiorgi/declutr-base' starts from the authors' own checkpoint",
}


def row_of(
    label: str, overrides: Overrides, published: Mapping[str, Mapping[str, float]], model: str | None = None
) -> Row:
    """Return a row, with its model's published size as a note. `model`: the model's name; by default the label."""
    parameters, dim = SIZES[model or label]
    size = f"{parameters} parameters, " if parameters else ""
    note = f"{NOTES[label]}; " if label in NOTES else ""
    needs: Need | None = "word_vectors" if label == "GloVe" else needed(overrides)
    return Row(label, overrides, published, needs, f"{note}{size}{dim} dimensions as printed")


def average_columns(*averages: Average) -> tuple[Column, ...]:
    """Return a column for each of these averages."""
    return tuple(Column(name, average=average.name) for name, average in zip(AVERAGES, averages, strict=True))


DEV_COLUMNS = average_columns(DEV_DOWNSTREAM, DEV_PROBING, DEV_ALL)
DEV_AGGREGATION = (
    "averages of 18 downstream and 10 probing tasks and the mean of the two, development scores (STS12 to 16 have no "
    "development part and stand with their test scores)"
)

TAU = Domain("objective.temperature", low=5e-4, high=0.5, log=True, grid=(5e-4, 5e-2))
ANCHORS = Domain("spans.anchors", choices=(1, 2))
POSITIVES = Domain("spans.positives", choices=(1, 2, 4))
STRATEGY = Domain("spans.strategy", choices=("default", "adjacent", "subsuming"))
RATE = Domain("optimisation.learning_rate", low=1e-5, high=1e-3, log=True, grid=(2e-5, 5e-5, 1e-4))
POOL = Domain("pooling.mode", choices=("mean", "cls", "max", "first_last_mean"))

RECIPE = Recipe().preferring(
    {
        "encoder.name": "distilroberta-base",
        "encoder.max_length": 512,
        "pooling.mode": "mean",
        "corpus.layout": "spans",
        "corpus.documents": "Skylion007/openwebtext",
        "spans.anchors": 2,
        "spans.positives": 2,
        "spans.shortest": 32,
        "spans.longest": 512,
        "spans.document": 2048,
        "objective.name": "ntxent",
        "objective.temperature": 0.05,
        "objective.mlm": 1.0,
        "optimisation.learning_rate": 5e-5,
        "optimisation.weight_decay": 0.1,
        "optimisation.clip_norm": 1.0,
        "optimisation.warmup": 0.1,
        "optimisation.schedule": "linear",
        "optimisation.batch_size": 16,
        "optimisation.epochs": 1,
    }
)
EVALUATION = EvaluationConfig(tasks=("all",))
LAPTOP: Overrides = {
    "encoder.name": SCENES_ENCODER,
    "encoder.max_length": 128,
    "corpus.documents": SCENES,
    "spans.shortest": 8,
    "spans.longest": 32,
    "spans.document": 128,
    "evaluation.senteval": SCENES,
    "evaluation.protocol": "fast",
    "optimisation.learning_rate": 5e-4,
    "optimisation.epochs": 4,
}
SHOWN = (*USUAL, ("downstream", DOWNSTREAM.name), ("probing", PROBING.name))
COMMON_ODDITIES = (
    "Development scores: SentEval reports Pearson, not Spearman, for SICK-R and STSBenchmark there, no F1 for MRPC, "
    "and STS12 to 16 have no development part. The paper does not say what it took; here it is Pearson, accuracy "
    "alone, and the test scores of STS12 to 16.",
    "The paper counts 495,243 documents of at least 2048 tokens in an open-access subset of OpenWebText. The hub's "
    "copy may hold another number of them; the report has ours.",
)
