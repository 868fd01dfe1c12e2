"""The averages of Tables 2 and 3."""

from __future__ import annotations

from search_spaces.paper import Average, cells
from trainables.senteval.tasks import GROUPS

STS_AVERAGE = Average(
    "supmpn_sts",
    (
        *cells(GROUPS["sts"], "spearman_all"),
        *cells(("STSBenchmark", "SICKRelatedness"), "test_spearman_cosine"),
    ),
)
TRANSFER_AVERAGE = Average(
    "supmpn_transfer", cells(("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC"), "test_accuracy")
)

DEHGHAN = (STS_AVERAGE, TRANSFER_AVERAGE)
