"""Statistics of figures that were measured under a few seeds on a sample of test items.

The package takes numbers (`Sample`) and returns numbers; it reads no results folder. `facts/evidence.py` makes the
samples from records and predictions. `python -m benchmarks calibration` measures the error rates.
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
