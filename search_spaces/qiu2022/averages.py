"""The average of Table 3."""

from __future__ import annotations

from search_spaces.paper import Average, cells
from trainables.senteval.tasks import GROUPS

STS_AVERAGE = Average(
    "clsr_sts", (*cells(GROUPS["sts"], "spearman_all"), *cells(("STSBenchmark",), "test_spearman_cosine"))
)
"""Mean of STS12 to 16 and STS-B by cosine; all pairs of a year are scored together."""

QIU = (STS_AVERAGE,)
