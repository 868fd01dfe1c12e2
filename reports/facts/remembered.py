"""Whether a gain may be memory: where training saw texts of some test items, and what it is compared with did not."""

from __future__ import annotations

from reports.facts.evidence import Evidence
from reports.facts.quantity import Quantity
from reports.statistics import Comparison
from reports.statistics.influence import most_of_memory

OVERLAP = "overlap"
"""The guard of test sentences that were seen in training."""


def stands_without_memory(
    evidence: Evidence, recipe_hash: str, other_hash: str, figure: Quantity, gain: Comparison
) -> bool:
    """Whether the recipe's gain over the other, or its loss, would be shown if all test items that only its training
    saw were those that speak most for it."""
    own, other = evidence.sample(recipe_hash, figure), evidence.sample(other_hash, figure)
    items = seen_items(evidence, recipe_hash, figure)
    memory = None if own is None or other is None or items is None else most_of_memory(own, other, items)
    if gain.low is None or gain.high is None or memory is None:
        return False
    return gain.low > memory or gain.high < 0


def remembered(evidence: Evidence, recipe_hash: str, other_hash: str | None, figure: Quantity) -> int | None:
    """Test items with a text that the recipe's training saw; None where the other's saw as many."""
    if other_hash is None or all(flag.guard != OVERLAP for flag in evidence.between(recipe_hash, other_hash, figure)):
        return None
    return seen_items(evidence, recipe_hash, figure)


def seen_items(evidence: Evidence, recipe_hash: str, figure: Quantity) -> int | None:
    """Test items with a text that the recipe's training saw, the most under any seed; None where that is unknown."""
    records = evidence.results.recipes[recipe_hash]
    counts = [[record.read.get("overlap", {}).get(task) for record in records] for task in sorted(figure.tasks)]
    if any(count is None for of_task in counts for count in of_task):
        return None
    return sum(max(count["seen"] for count in of_task) for of_task in counts)
