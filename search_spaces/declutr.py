"""Giorgi et al. 2020, "DeCLUTR": Tables 1, S3, S4 and S6, and what its other spaces share with them.

Tables S1 and S5 are in `declutr_pooling.py`, Figures 2, 3 and S1 in `declutr_figures.py`. The base recipe is section
4.1 with DistilRoBERTa (DeCLUTR-small). Figures are percentages as printed; Table S6 has development scores, the others
test scores.
"""

from __future__ import annotations

from typing import Any

from search_spaces.space import Claim, Column, Domain, Need, Row, Space, Table
from trainables.recipe import SCENES, SCENES_ENCODER, Recipe

PAPER = 'Giorgi et al. 2020, "DeCLUTR: Deep Contrastive Learning for Unsupervised Textual Representations"'
SMALL, BASE = "DeCLUTR-small", "DeCLUTR-base"
UNTRAINED = "Transformer-small"

AVERAGES = ("Downstream", "Probing", "Avg.")
CLASSIFICATION = ("CR", "MR", "MPQA", "SUBJ", "SST2", "SST5", "TREC")
STS = ("STS12", "STS13", "STS14", "STS15", "STS16")
# In the paper's order; MRPC is printed as two figures, of which the average takes the mean.
DOWNSTREAM = (
    *CLASSIFICATION,
    *("MRPC accuracy", "MRPC F1", "SNLI", "SICK-E", "SICK-R", "STSBenchmark", "Caption-Image"),
    *STS,
)
PROBING = ("SentLen", "WC", "TreeDepth", "TopConst", "BShift", "Tense", "SubjNum", "ObjNum", "SOMO", "CoordInv")

# Table 1: 18 downstream tasks, 10 probing tasks, the mean of the two.
_AVERAGES: dict[str, tuple[float, float, float]] = {
    "GloVe": (65.50, 62.42, 63.96),
    "fastText": (68.57, 63.16, 65.87),
    "InferSent": (76.46, 72.58, 74.52),
    "USE": (79.13, 66.70, 72.91),
    "Sentence Transformers": (77.59, 63.22, 70.40),
    UNTRAINED: (72.69, 74.27, 73.48),
    "Transformer-base": (72.22, 73.38, 72.80),
    SMALL: (76.80, 73.84, 75.32),
    BASE: (78.16, 73.80, 75.98),
}
# Table S3: CR ... TREC, MRPC twice, SNLI; then SICK-E ... STS16.
_DOWNSTREAM: dict[str, tuple[float, ...]] = {
    "GloVe": (
        *(78.78, 77.70, 87.76, 91.25, 80.29, 44.48, 83.00, 73.39, 81.45, 65.85),
        *(78.89, 72.30, 62.86, 0.40, 53.44, 51.24, 55.71, 59.62, 57.93),
    ),
    "fastText": (
        *(79.18, 78.45, 87.88, 91.53, 82.15, 45.16, 83.60, 74.49, 82.44, 68.79),
        *(79.01, 72.98, 68.26, 0.40, 58.85, 58.83, 63.42, 69.05, 68.24),
    ),
    "InferSent": (
        *(84.37, 79.42, 89.04, 93.03, 84.24, 45.34, 90.80, 76.35, 83.48, 84.16),
        *(86.30, 83.06, 78.48, 65.84, 62.90, 56.08, 66.36, 74.01, 72.89),
    ),
    "USE": (
        *(85.70, 79.38, 88.89, 93.11, 84.90, 46.11, 95.00, 72.41, 82.01, 83.25),
        *(85.37, 81.53, 81.50, 62.42, 68.87, 71.70, 72.76, 83.88, 82.78),
    ),
    "Sentence Transformers": (
        *(91.05, 84.52, 89.10, 92.65, 90.55, 52.76, 87.40, 77.33, 84.06, 84.18),
        *(82.97, 79.17, 73.31, 60.97, 64.11, 65.69, 69.83, 74.77, 72.85),
    ),
    UNTRAINED: (
        *(86.81, 82.51, 87.20, 94.69, 87.75, 49.64, 91.60, 73.80, 81.14, 71.81),
        *(81.98, 77.48, 71.26, 60.65, 54.95, 46.11, 57.08, 65.56, 63.80),
    ),
    "Transformer-base": (
        *(88.35, 84.07, 79.90, 95.21, 88.80, 50.27, 93.20, 74.49, 82.46, 71.62),
        *(80.76, 76.08, 69.02, 60.97, 54.32, 46.41, 55.64, 64.04, 62.77),
    ),
    SMALL: (
        *(88.03, 82.54, 89.86, 94.94, 87.59, 48.42, 92.40, 75.54, 82.68, 73.72),
        *(82.69, 78.35, 77.26, 61.22, 64.10, 65.80, 67.89, 75.63, 72.84),
    ),
    BASE: (
        *(90.15, 84.89, 89.39, 95.19, 89.68, 50.18, 93.60, 75.25, 82.80, 74.18),
        *(82.95, 79.39, 78.84, 61.92, 64.21, 70.40, 69.99, 77.51, 75.35),
    ),
}
# Table S4.
_PROBING: dict[str, tuple[float, ...]] = {
    "GloVe": (57.82, 81.10, 31.41, 62.70, 49.74, 83.58, 78.39, 76.31, 49.55, 53.62),
    "fastText": (55.46, 82.10, 32.74, 63.32, 50.16, 86.68, 79.75, 79.81, 50.21, 51.41),
    "InferSent": (78.76, 89.50, 37.72, 80.16, 61.41, 88.56, 86.83, 83.91, 52.11, 66.88),
    "USE": (73.14, 69.44, 30.87, 73.27, 58.88, 83.81, 80.34, 79.14, 56.97, 61.13),
    "Sentence Transformers": (69.21, 51.79, 30.08, 50.38, 69.70, 83.02, 79.74, 77.85, 60.10, 60.33),
    UNTRAINED: (89.16, 64.50, 41.21, 73.50, 88.33, 87.97, 85.44, 84.17, 63.80, 64.65),
    "Transformer-base": (82.19, 57.60, 38.92, 70.38, 89.34, 88.32, 84.70, 83.33, 68.09, 70.94),
    SMALL: (85.83, 74.51, 38.04, 73.78, 85.26, 87.72, 85.48, 83.08, 62.06, 62.61),
    BASE: (79.74, 69.98, 37.25, 72.96, 87.50, 88.29, 85.72, 82.92, 65.60, 68.03),
}
# Table S6: the downstream average, and without SNLI.
WITHOUT_SNLI = ("Downstream", "Downstream without SNLI")
WITHOUT_SNLI_AVERAGES: dict[str, tuple[float, float]] = {
    "InferSent": (76.80, 76.33),
    "USE": (79.76, 79.56),
    "Sentence Transformers": (77.61, 77.21),
    SMALL: (76.97, 77.18),
    BASE: (78.27, 78.53),
}
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

LARGER_MODEL = {"encoder.kind": "transformer", "encoder.name": HUB["RoBERTa-base"]}
"""What makes a DeCLUTR-base of a DeCLUTR-small."""
AS_IT_IS = {"optimisation.epochs": 0}
WORDS = {**AS_IT_IS, "encoder.kind": "word_vectors"}


def plain(name: str, mode: str) -> dict[str, Any]:
    """A pretrained transformer, without training, under our own pooling."""
    return {**AS_IT_IS, "encoder.kind": "transformer", "encoder.name": name, "pooling.mode": mode}


def finished(name: str | None = None) -> dict[str, Any]:
    """A finished sentence-transformers model; without a name only a person can give one."""
    model = {} if name is None else {"encoder.name": name}
    return {**AS_IT_IS, "encoder.kind": "pipeline", **model}


_OVERRIDES: dict[str, dict[str, Any]] = {
    "GloVe": WORDS,
    "fastText": WORDS,
    "InferSent": finished(),
    "USE": finished(),
    "Sentence Transformers": finished("sentence-transformers/roberta-base-nli-mean-tokens"),
    UNTRAINED: AS_IT_IS,
    "Transformer-base": plain(HUB["RoBERTa-base"], "mean"),
    SMALL: {},
    BASE: LARGER_MODEL,
}
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


def figures(columns: tuple[str, ...], printed: tuple[float, ...]) -> dict[str, float]:
    """Column names to printed figures."""
    return dict(zip(columns, printed, strict=True))


def needed(label: str, overrides: dict[str, Any]) -> Need | None:
    """The input without which the row is a dash."""
    if label == "GloVe":
        return "word_vectors"
    return "checkpoint" if {"encoder.kind", "encoder.name"} & set(overrides) else None


def sized(label: str, said: str = "") -> str:
    """A row's note, with the printed size of the model."""
    parameters, dim = SIZES[label]
    size = f"{parameters} parameters, " if parameters else ""
    return f"{said + '; ' if said else ''}{size}{dim} dimensions as printed"


def _main_rows() -> tuple[Row, ...]:
    rows = []
    for label, overrides in _OVERRIDES.items():
        published = {
            "1": figures(AVERAGES, _AVERAGES[label]),
            "S3": figures(DOWNSTREAM, _DOWNSTREAM[label]),
            "S4": figures(PROBING, _PROBING[label]),
        }
        if label in WITHOUT_SNLI_AVERAGES:
            published["S6"] = figures(WITHOUT_SNLI, WITHOUT_SNLI_AVERAGES[label])
        need, note = needed(label, overrides), sized(label, NOTES[label])
        rows.append(Row(label, overrides, published, needs=need, note=note))
    return tuple(rows)


_NAMES = {
    "SNLI": "SNLI",
    "SICK-E": "SICKEntailment",
    "SentLen": "Length",
    "WC": "WordContent",
    "TreeDepth": "Depth",
    "TopConst": "TopConstituents",
    "BShift": "BigramShift",
    "SubjNum": "SubjNumber",
    "ObjNum": "ObjNumber",
    "SOMO": "OddManOut",
    "CoordInv": "CoordinationInversion",
}
_SCORES = {
    **{name: (name, "spearman_mean") for name in STS},
    "MRPC accuracy": ("MRPC", "test_accuracy"),
    "MRPC F1": ("MRPC", "test_f1"),
    "SICK-R": ("SICKRelatedness", "test_spearman_regressor"),
    "STSBenchmark": ("STSBenchmark", "test_spearman_regressor"),
    "Caption-Image": ("ImageCaptionRetrieval", "test_recall"),
}


def _columns(names: tuple[str, ...]) -> tuple[Column, ...]:
    return tuple(Column(name, _SCORES.get(name, (_NAMES.get(name, name), "test_accuracy"))) for name in names)


AVERAGE_COLUMNS = (
    Column("Downstream", average="declutr_downstream"),
    Column("Probing", average="declutr_probing"),
    Column("Avg.", average="declutr_all"),
)
DEV_COLUMNS = (
    Column("Downstream", average="development_declutr_downstream"),
    Column("Probing", average="development_declutr_probing"),
    Column("Avg.", average="development_declutr_all"),
)
DEV_AGGREGATION = (
    "averages of 18 downstream and 10 probing tasks and the mean of the two, development scores (STS12 to 16 have no "
    "development part and stand with their test scores)"
)
_MAIN_TABLES = (
    Table(
        number="1",
        title="SentEval, averages",
        columns=AVERAGE_COLUMNS,
        rows=tuple((label, label) for label in _AVERAGES),
        topic="SentEval",
        protocol="full",
        aggregation="averages of 18 downstream and 10 probing tasks and the mean of the two, test scores",
    ),
    Table(
        number="S3",
        title="Downstream tasks",
        columns=_columns(DOWNSTREAM),
        rows=tuple((label, label) for label in _DOWNSTREAM),
        topic="SentEval",
        protocol="full",
        aggregation="accuracy; Spearman after a trained regressor for SICK-R and STSBenchmark, by cosine and as the "
        "mean of the sub-corpora for STS12 to 16; mean recall at 1, 5 and 10 both ways for Caption-Image",
        footnotes=("Of MRPC the averages take the mean of accuracy and F1.",),
    ),
    Table(
        number="S4",
        title="Probing tasks",
        columns=_columns(PROBING),
        rows=tuple((label, label) for label in _PROBING),
        topic="SentEval",
        protocol="full",
        aggregation="accuracy",
    ),
    Table(
        number="S6",
        title="Downstream average with and without SNLI, which the supervised models were trained on",
        columns=(
            DEV_COLUMNS[0],
            Column("Downstream without SNLI", average="development_declutr_without_snli"),
        ),
        rows=tuple((label, label) for label in WITHOUT_SNLI_AVERAGES),
        topic="SentEval (development)",
        protocol="full",
        aggregation="development scores (STS12 to 16 have no development part and stand with their test scores)",
    ),
)

_OTHERS = tuple(label for label in _AVERAGES if label not in (SMALL, BASE))
_SUPERVISED = ("InferSent", "USE", "Sentence Transformers")
_MAIN_CLAIMS = (
    Claim(
        "Our objective reaches state-of-the-art performance on SentEval, outperforming existing supervised, "
        "semi-supervised and unsupervised methods (average).",
        *("1", "Avg."),
        better=(SMALL, BASE),
        worse=_OTHERS,
    ),
    *(
        Claim(
            f"{ours} significantly boosts downstream performance.",
            *("1", "Downstream"),
            better=(ours,),
            worse=(before,),
        )
        for ours, before in ((SMALL, UNTRAINED), (BASE, "Transformer-base"))
    ),
    Claim(
        "... while maintaining high probing performance (here above every other method but the transformers).",
        *("1", "Probing"),
        better=(SMALL, BASE),
        worse=("GloVe", "fastText", *_SUPERVISED),
    ),
    Claim(
        "Except for InferSent, existing methods perform poorly on the probing tasks.",
        *("1", "Probing"),
        better=("InferSent", UNTRAINED, "Transformer-base"),
        worse=("USE", "Sentence Transformers", "GloVe", "fastText"),
    ),
    Claim(
        "Sentence Transformers scores approximately 10% lower on the probing tasks than the model it fine-tunes.",
        *("1", "Probing"),
        better=("Transformer-base",),
        worse=("Sentence Transformers",),
        stated=10,
    ),
    Claim(
        "Performance can be further improved by scaling the model capacity.",
        *("1", "Avg."),
        better=(BASE,),
        worse=(SMALL,),
    ),
    Claim(
        "Our method sometimes underperforms existing supervised solutions on average downstream performance.",
        *("1", "Downstream"),
        better=("USE",),
        worse=(BASE,),
    ),
    Claim(
        "Without SNLI, our method performs only about 1% worse than USE.",
        *("S6", "Downstream without SNLI"),
        better=("USE",),
        worse=(BASE,),
        stated=1.03,
    ),
    Claim(
        "After controlling for SNLI the difference to USE shrinks.",
        *("S6", "Downstream"),
        better=("USE",),
        worse=(BASE,),
        smaller_in=("S6", "Downstream without SNLI"),
    ),
    *(
        Claim(
            f"After controlling for SNLI our improvement over {label} grows.",
            *("S6", "Downstream without SNLI"),
            better=(BASE,),
            worse=(label,),
            smaller_in=("S6", "Downstream"),
        )
        for label in ("InferSent", "Sentence Transformers")
    ),
)

TAU = Domain("objective.temperature", low=5e-4, high=0.5, log=True, grid=(5e-4, 5e-2))
ANCHORS = Domain("spans.anchors", choices=(1, 2))
POSITIVES = Domain("spans.positives", choices=(1, 2, 4))
STRATEGY = Domain("spans.strategy", choices=("default", "adjacent", "subsuming"))
_RATE = Domain("optimisation.learning_rate", low=1e-5, high=1e-3, log=True, grid=(2e-5, 5e-5, 1e-4))
POOL = Domain("pooling.mode", choices=("mean", "cls", "max", "first_last_mean"))

RECIPE = Recipe().override(
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
        "evaluation.tasks": ("all",),
    }
)
LAPTOP: dict[str, Any] = {
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
COMMON_ODDITIES = (
    "Development scores: SentEval reports Pearson, not Spearman, for SICK-R and STSBenchmark there, no F1 for MRPC, "
    "and STS12 to 16 have no development part. The paper does not say what it took; here it is Pearson, accuracy "
    "alone, and the test scores of STS12 to 16.",
    "The paper counts 495,243 documents of at least 2048 tokens in an open-access subset of OpenWebText. The hub's "
    "copy may hold another number of them; the report has ours.",
)

SPACES = (
    Space(
        name="declutr_main",
        title="DeCLUTR and the models it is compared with (Tables 1, S3, S4 and S6)",
        paper=PAPER,
        base=RECIPE,
        laptop=LAPTOP,
        rows=_main_rows(),
        domains=(TAU, ANCHORS, POSITIVES, STRATEGY, _RATE, POOL),
        tables=_MAIN_TABLES,
        claims=_MAIN_CLAIMS,
        baseline=UNTRAINED,
        oddities=(
            "Table 1's differences to DeCLUTR-base are of figures before rounding: USE -3.06 and Sentence "
            "Transformers -5.57, where the printed averages differ by 3.07 and 5.58.",
            "Table S4 sets DeCLUTR-base's CoordInv (68.03) in bold; Transformer-base's 70.94 is the best.",
            "Caption-Image is 0.40 for both GloVe and fastText and 60 to 66 for all others: the rankings of averaged "
            "word vectors seem to have failed. Some three points of their downstream averages are lost by it, so ours "
            "may lie higher.",
            "Transformer-base's MPQA is 79.90, where every other row has 87 or more.",
            "Supplement 5 says that the improvements over InferSent and Sentence Transformers grow by about 33 % and "
            "50 %: 0.73 of 2.20, and 0.66 of 1.32, so shares of the difference without SNLI.",
            *COMMON_ODDITIES,
        ),
    ),
)
