"""How much of a gain may be memory, where training saw some of the test items, and nobody knows which.

At most so many items were seen, so at most those are taken out that count most for the gain. What is left of it does
not rest on memory, whichever items these were.
"""

from __future__ import annotations

import numpy as np

from reports.statistics.sample import Sample


def most_of_memory(own: Sample, other: Sample, items: int) -> float | None:
    """The points that a gain of `own` over `other` may lose at most when so many test items are left out: exact for an
    accuracy, and for a correlation by the items' influences. None where the two do not pair item by item.
    """
    if own.effect is None or other.effect is None or not own.items or own.items != other.items:
        return None
    counts = np.sort(own.effect - other.effect)[::-1]  # (items,)
    if items >= len(counts):
        return None
    return float(np.maximum(counts[:items], 0.0).sum() * len(counts) / (len(counts) - items))
