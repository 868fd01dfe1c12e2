"""What may be concluded from figures that were measured under a few seeds on a sample of test items.

No part of it knows a results folder: it takes numbers (`Sample`) and gives numbers. `facts/evidence.py` makes the
samples out of records and predictions. `python -m benchmarks calibration` measures its error rates.
"""

from reports.statistics.comparison import Comparison, compare
from reports.statistics.families import Field, best_set, holm, rank_intervals
from reports.statistics.measured import CONFIDENCE, Measured
from reports.statistics.sample import Sample

__all__ = [
    "CONFIDENCE",
    "Comparison",
    "Field",
    "Measured",
    "Sample",
    "best_set",
    "compare",
    "holm",
    "rank_intervals",
]
