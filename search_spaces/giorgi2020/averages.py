"""The averages of 18 downstream and 10 probing tasks, and the mean of the two, on test and on development splits."""

from __future__ import annotations

from search_spaces.paper import Average, Cell, cells
from trainables.senteval.tasks import GROUPS

_CLASSIFICATION = ("CR", "MR", "MPQA", "SUBJ", "SST2", "SST5", "TREC", "SNLI", "SICKEntailment")
_STS = cells(GROUPS["sts"], "spearman_mean")

# Table 1.
DOWNSTREAM = Average(
    "declutr_downstream",
    (
        *cells(_CLASSIFICATION, "test_accuracy"),
        ("MRPC", ("test_accuracy", "test_f1")),
        *cells(("SICKRelatedness", "STSBenchmark"), "test_spearman_regressor"),
        ("ImageCaptionRetrieval", ("test_recall",)),
        *_STS,
    ),
)
PROBING = Average("declutr_probing", cells(GROUPS["probing"], "test_accuracy"))
ALL = Average("declutr_all", parts=(DOWNSTREAM, PROBING))

# Tables S1, S5 and S6, and the figures: development parts. SentEval reports no F1 for MRPC there, and Pearson for the
# regressors. STS12 to 16 have no development part, so their test scores are used.
_DEVELOPMENT: tuple[Cell, ...] = (
    *cells((*_CLASSIFICATION, "MRPC"), "dev_accuracy"),
    *cells(("SICKRelatedness", "STSBenchmark"), "dev_pearson_regressor"),
    ("ImageCaptionRetrieval", ("dev_recall",)),
    *_STS,
)
DEV_DOWNSTREAM = Average("development_declutr_downstream", _DEVELOPMENT, development=True)
DEV_PROBING = Average("development_declutr_probing", cells(GROUPS["probing"], "dev_accuracy"), development=True)
DEV_WITHOUT_SNLI = Average(
    "development_declutr_without_snli",
    tuple(cell for cell in _DEVELOPMENT if cell[0] != "SNLI"),
    development=True,
)
DEV_ALL = Average("development_declutr_all", parts=(DEV_DOWNSTREAM, DEV_PROBING), development=True)

GIORGI = (DOWNSTREAM, PROBING, DEV_DOWNSTREAM, DEV_PROBING, DEV_WITHOUT_SNLI, ALL, DEV_ALL)
