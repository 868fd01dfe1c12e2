"""What a results folder proves: each recipe's figures as samples, each row against the baseline, the best set.

evidence = Evidence.of(results)
for board in evidence.boards:          # one for each figure that sums the study up
    for standing in board.standings:
        print(standing.name, standing.sample.mean, standing.gain, standing.verdict)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from reports.statistics.comparison import Comparison
from reports.statistics.sample import Sample

if TYPE_CHECKING:
    from reports.guards import Flag
    from reports.results import Results

Verdict = Literal["above", "below", "undecided", "undecided: one seed", "no verdict", "missing"]
"""Of a row against the baseline, at 5 % over the whole board (Holm). `no verdict`: a flag stands between the two."""


@dataclass(frozen=True)
class Quantity:
    """A figure of a trial as a weighted sum of task scores: `{("STS12", "spearman_wmean"): 0.2, ...}`."""

    name: str
    weights: Mapping[tuple[str, str], float]

    @property
    def tasks(self) -> frozenset[str]:
        """Whose scores it is made of."""
        return frozenset(task for task, _ in self.weights)


@dataclass(frozen=True)
class Standing:
    """A recipe on a board."""

    recipe_hash: str
    name: str
    """The row's label, or `explored HASH`."""
    is_row: bool
    sample: Sample | None
    """None where the figure is missing."""
    gain: Comparison | None
    """Over the baseline; None for the baseline itself and where either is missing."""
    p_holm: float | None
    verdict: Verdict
    blocked_by: tuple[Flag, ...]
    """The flags between it and the baseline that forbid a verdict."""
    flags: tuple[Flag, ...]
    """Every flag that touches the recipe in this figure."""
    wins: int | None
    ties: int | None
    losses: int | None
    """Over the quantity's tasks, against the baseline: by the interval of each task at 95 %, Holm over its tasks."""
    in_best_set: bool | None
    """None where it cannot be said (one seed, no items)."""
    ranks: tuple[int, int] | None
    """The best and the worst rank that the data allow at 95 %, all rows at once."""
    published: float | None = None
    """The paper's gain over its baseline, in points."""


@dataclass(frozen=True)
class Board:
    """Every recipe under one figure that sums the study up, best first."""

    quantity: Quantity
    baseline: str | None
    """The label."""
    standings: tuple[Standing, ...]
    seeds_needed: int | None
    """So many more seeds of each row would settle the undecided gains that are as large as measured, at power 80 %;
    None where nothing is undecided, or no number of seeds would."""
    settles: str = ""
    """In words: what those seeds would settle, or why none would."""


class Evidence:
    """The samples and boards of a study, computed once."""

    def __init__(self, results: Results) -> None:
        self.results = results
