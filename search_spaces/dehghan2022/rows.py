"""The models of Tables 1 to 3 and A1, grids of rows beyond the paper, and the layout of their tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from search_spaces.paper import ACCURACY, ALL_PAIRS, Column, Need, Overrides, PremiseCount, Row, Table
from search_spaces.published import by_label, read_figures, same
from search_spaces.shared import NO_TRAINING, SICK, STSB, WORD_VECTORS, YEARS, averaged, finished, needed, plain, scored

_FIGURES = read_figures(Path(__file__).with_name("figures.csv"))
BASE, LARGE = "SupMPN-BERT-base", "SupMPN-BERT-large"
BASELINE = "SBERT-base"
UNTRAINED = "BERT-base (first-last avg.)"

TABLE_2, TABLE_3 = tuple(_FIGURES["2"]), tuple(_FIGURES["3"])
"""The names of the models in Table 2 and in Table 3, in the paper's order."""
_PUBLISHED = by_label(_FIGURES, {number: same(_FIGURES[number]) for number in ("2", "3", "A1")})

# Table 1.
_SNLI, _MNLI = _FIGURES["1"]["SNLI"], _FIGURES["1"]["MNLI"]
PREMISES = (
    PremiseCount("snli", "SNLI", (1, 1), (1, 1), int(_SNLI["one each"])),
    PremiseCount("snli", "SNLI", (2, 4), (2, 4), int(_SNLI["two to four each"])),
    PremiseCount("snli", "SNLI", (5, None), (5, None), int(_SNLI["five or more each"])),
    PremiseCount("multi_nli", "MNLI", (1, 1), (1, 1), int(_MNLI["one each"])),
    PremiseCount("multi_nli", "MNLI", (2, 2), (2, 2), int(_MNLI["two each"])),
    PremiseCount("multi_nli", "MNLI", (3, 3), (3, 3), int(_MNLI["three each"])),
)


_WHITEN: Overrides = {"pooling.after": "whiten"}
_SBERT = "sentence-transformers/bert-base-nli-mean-tokens"

_OVERRIDES: dict[str, Overrides] = {
    "Glove embeddings (avg.)": WORD_VECTORS,
    "fastText embeddings": WORD_VECTORS,
    UNTRAINED: NO_TRAINING,
    "BERT-base-flow-NLI": finished(),
    "BERT-base-whitening-NLI": {**NO_TRAINING, **_WHITEN},
    "IS-BERT-base": finished(),
    "CT-BERT-base": plain("Contrastive-Tension/BERT-Base-CT"),
    "SG-BERT-base": finished(),
    "Mirror-BERT-base": plain("cambridgeltl/mirror-bert-base-uncased-sentence-drophead"),
    "SimCSE-unsup-BERT-base": plain("princeton-nlp/unsup-simcse-bert-base-uncased", "cls"),
    "TSDAE-BERT-base": finished(),
    "ConSERT-BERT-base": finished(),
    "ConSERT-BERT-large": finished(),
    "RoBERTa-base (first-last avg.)": plain("roberta-base", "first_last_mean"),
    "CLEAR-RoBERTa-base": finished(),
    "DeCLUTR-RoBERTa-base": plain("johngiorgi/declutr-base"),
    "InferSent-GloVe": finished(),
    "Universal Sentence Encoder": finished(),
    BASELINE: finished(_SBERT),
    "SBERT-base-nli-v2": finished("kwang2049/SBERT-base-nli-v2"),
    "SBERT-base-flow": finished(),
    "SBERT-base-whitening": {**plain(_SBERT, "first_last_mean"), **_WHITEN},
    "CT-SBERT-base": plain("Contrastive-Tension/BERT-Base-NLI-CT"),
    "SG-BERT-base (supervised)": finished(),
    "SimCSE-sup-BERT-base": plain("princeton-nlp/sup-simcse-bert-base-uncased", "cls"),
    BASE: {},
    "SimCSE-sup-BERT-large": plain("princeton-nlp/sup-simcse-bert-large-uncased", "cls"),
    LARGE: {
        "encoder.kind": "transformer",
        "encoder.name": "bert-large-uncased",
        "optimisation.batch_size": 200,
        "optimisation.learning_rate": 1e-5,
    },
    "Skip-thought": finished(),
    "Avg. BERT embedding": plain(None),
    "BERT-[CLS] embedding": plain(None, "cls"),
    "SimCSE-unsup-BERT-base-MLM": finished(),
    "SimCSE-sup-BERT-base-MLM": finished(),
}

_BEFORE_POOLER = "its [CLS] state is taken before the pooler, which the authors use; so ours is not quite their model"
_NOTES = {
    "Glove embeddings (avg.)": "averaged word vectors without training; needs --word-vectors",
    "fastText embeddings": "averaged word vectors without training; needs a file of its own by --evaluate",
    "BERT-base-whitening-NLI": "whitened by the training sentences, no dimension dropped",
    "SBERT-base-whitening": "whitened by the training sentences, no dimension dropped; first and last layer",
    "Mirror-BERT-base": "the released checkpoint with drophead, which by its authors does not give the exact figures",
    "SimCSE-sup-BERT-base": _BEFORE_POOLER,
    "SimCSE-sup-BERT-large": _BEFORE_POOLER,
    "SG-BERT-base (supervised)": "printed as a second SG-BERT-base, among the supervised models",
    BASE: f"--evaluate '{BASE}=SoDehghan/supmpn-bert-base-uncased' evaluates the authors' own checkpoint in its place",
}


MAIN_ROWS = tuple(
    Row(
        label,
        overrides,
        _PUBLISHED[label],
        needs="word_vectors" if label == "Glove embeddings (avg.)" else needed(overrides),
        note=_NOTES.get(label, ""),
    )
    for label, overrides in _OVERRIDES.items()
)

# Table A1: how missing positives are filled.
AUGMENTATION = tuple(_FIGURES["A1"])
NONE, DELETION, SYNONYMS, PARAPHRASES = AUGMENTATION


def _augmented(label: str, how: str, needs: Need | None = None, note: str = "") -> Row:
    return Row(label, {"corpus.augmentation": how}, _PUBLISHED[label], needs, note)


AUGMENTATION_ROWS = (
    _augmented(NONE, "none"),
    _augmented(DELETION, "deletion", note="10 % of an entailment's words are deleted"),
    _augmented(SYNONYMS, "synonyms", "wordnet", "20 % of an entailment's words are replaced"),
    _augmented(
        PARAPHRASES,
        "paraphrase",
        "paraphraser",
        "half of the entailments are paraphrased; the paper's model is prithivida/parrot_paraphraser_on_T5",
    ),
)

# Section 5.3, in words only.
BATCHES = {str(size): f"batch {size}" for size in (64, 128, 256, 512)}
BATCH_ROWS = tuple(
    Row(label, {"optimisation.batch_size": int(size)}, _PUBLISHED[BASE] if size == "256" else {})
    for size, label in BATCHES.items()
)


def _numbers(positives: int | None, negatives: int | None) -> Overrides:
    return {"objective.positives": positives, "objective.negatives": negatives}


_ROWS_LAYOUT: Overrides = {"corpus.layout": "rows"}
OBJECTIVES: dict[str, Overrides] = {
    "untrained": NO_TRAINING,
    "cross-entropy": {"objective.name": "ce", **_ROWS_LAYOUT},
    "SCL, lambda 0.3": {
        "objective.name": "scl",
        "objective.weight": 0.3,
        "objective.temperature": 1.0,
        **_ROWS_LAYOUT,
        **_numbers(None, None),
    },
    "NT-Xent, P 1": {"objective.name": "ntxent", **_numbers(1, None)},
    "MNRL, P 1, Q 5": {"objective.name": "mnrl", **_numbers(1, 5)},
    "SimCSE, unsupervised": {"objective.name": "simcse", "corpus.layout": "sentences"},
    "SimCSE, supervised, P 1, Q 1": {"objective.name": "simcse", **_numbers(1, 1)},
    "SimCSE, supervised, P 1, Q 1, MLM 0.1": {"objective.name": "simcse", "objective.mlm": 0.1, **_numbers(1, 1)},
    "SupCon, P 5": {"objective.name": "supcon", **_numbers(5, None)},
    "SupMPN, P 5, Q 5": {},
    "SupMPN, P 5, Q 5, released code": {"objective.fidelity": "released"},
    "triplet margin, P 5, Q 5": {"objective.name": "triplet"},
    "BatchAll, P 5, Q 5": {"objective.name": "batch_all"},
    "BatchHard, P 5, Q 5": {"objective.name": "batch_hard"},
}
_SAME_MODEL = {"SupMPN, P 5, Q 5": BASE, "untrained": UNTRAINED}
OBJECTIVE_ROWS = tuple(
    Row(label, overrides, _PUBLISHED[_SAME_MODEL[label]] if label in _SAME_MODEL else {})
    for label, overrides in OBJECTIVES.items()
)

GRID = {f"P {p}, Q {q}": (p, q) for p in range(1, 6) for q in range(1, 6)}
GRID_ROWS = tuple(
    Row(label, _numbers(p, q), _PUBLISHED[BASE] if (p, q) == (5, 5) else {}) for label, (p, q) in GRID.items()
)

# The ablations have the layout of Tables 2 and 3.

STS = (*YEARS, STSB.name, SICK.name)
_TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST-2", "TREC", "MRPC")

_STS_COLUMNS = averaged(*scored(YEARS, "spearman_all"), STSB, SICK)
_TRANSFER_COLUMNS = averaged(*(Column(name, (name.replace("SST-2", "SST2"), "test_accuracy")) for name in _TRANSFER))


def sts_table(number: str, title: str, rows: Mapping[str, str], curve: str | None = None) -> Table:
    """Return a table with the columns of Table 2 for these rows."""
    return Table(
        number=number,
        title=title,
        columns=_STS_COLUMNS,
        rows=tuple(rows.items()),
        topic="STS",
        aggregation=ALL_PAIRS,
        curve=curve,
    )


def both_tables(what: str, rows: Mapping[str, str], curve: str | None = None) -> tuple[Table, ...]:
    """Return tables with the columns of Tables 2 and 3 for these rows."""
    transfer = Table(
        number="3",
        title=f"{what}, on the transfer tasks",
        columns=_TRANSFER_COLUMNS,
        rows=tuple(rows.items()),
        topic="transfer",
        aggregation=ACCURACY,
        curve=curve,
    )
    return sts_table("2", f"{what}, on the STS tasks", rows, curve), transfer


_STS_TABLE, _TRANSFER_TABLE = both_tables("All models", {})
MAIN_TABLES = (
    dataclasses.replace(_STS_TABLE, rows=tuple(same(TABLE_2).items())),
    dataclasses.replace(_TRANSFER_TABLE, rows=tuple(same(TABLE_3).items())),
)
