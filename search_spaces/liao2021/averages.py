"""The averages of Tables 2 to 7."""

from __future__ import annotations

from search_spaces.paper import Average, cells
from trainables.senteval.tasks import GROUPS

STS_AVERAGE = Average("liao_sts", cells(GROUPS["sts"], "spearman_wmean"))
TRANSFER_AVERAGE = Average("liao_transfer", cells(GROUPS["transfer"], "test_accuracy"))

LIAO = (STS_AVERAGE, TRANSFER_AVERAGE)
