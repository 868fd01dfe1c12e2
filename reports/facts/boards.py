"""Every row of a study against its baseline, the rows that may be the best, and their ranks: facts, without words.

for board in boards(Evidence.of(results)):          # one for each figure that sums the study up
    for standing in board.standings:
        print(standing.name, standing.sample.mean, standing.gain, standing.verdict)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

from reports.facts.evidence import SURE, Evidence
from reports.facts.guards import Flag
from reports.facts.more_seeds import SeedsWanted
from reports.facts.quantity import Quantity, quantity
from reports.statistics import Comparison, Field, Sample, best_set, holm, rank_intervals
from reports.statistics.families import can_be_judged
from reports.statistics.order import Order, kendall

Verdict = Literal["baseline", "above", "below", "undecided", "undecided: one seed", "no verdict", "missing"]
"""Verdict on a row against the baseline, with at most 5 % error over the whole board (Holm). `no verdict`: a flag
forbids one; `missing`: the row or the baseline is not measured."""


@dataclass(frozen=True)
class Standing:
    """A row on a board: its figure, its gain over the baseline and its verdict."""

    recipe_hash: str
    name: str
    """The row's label."""
    sample: Sample | None
    """The row's figure under each seed; None if the figure is missing."""
    gain: Comparison | None
    """Gain over the baseline; None for the baseline itself, and if the row or the baseline is not measured."""
    p_holm: float | None
    """The gain's p, adjusted (Holm) over all gains of the board that may get a verdict; None for other gains."""
    verdict: Verdict
    blocked_by: tuple[Flag, ...]
    """Flags that forbid a verdict on the row against the baseline."""
    flags: tuple[Flag, ...]
    """Every flag on the recipe in this figure."""
    wins: int | None
    ties: int | None
    losses: int | None
    """`wins`, `ties`, `losses`: on how many of the figure's tasks the row is above, not shown to differ from, and below
    the baseline, by each task's p at 5 % (Holm over the tasks). None without a gain, and with one seed."""
    in_best_set: bool | None
    """Whether the row may be the best; None if unknown, because of one seed or a flag that forbids a verdict."""
    ranks: tuple[int, int] | None
    """The best and the worst rank that the row may have, at 95 % for all rows at once; None if not judged."""
    copy_of: str = ""
    """Label of the row of which this row is a copy; empty if the row is no copy."""
    collapsed: int = 0
    """Number of further seeds, under which training collapsed; the sample and all that follows from it exclude them."""
    lost: tuple[tuple[str, float], ...] = ()
    """The tasks on which the row is shown to be below the baseline, each with its gain."""
    published: float | None = None
    """The paper's gain over its baseline, in points; the paper's figure if the space has no baseline."""


@dataclass(frozen=True)
class Board:
    """All rows of the study, sorted by one of the figures that sum the study up, the best first."""

    quantity: Quantity
    baseline: str | None
    """Label of the baseline; None if the baseline is not measured, so that there are no gains."""
    standings: tuple[Standing, ...]
    more_seeds: SeedsWanted = field(default_factory=SeedsWanted)
    """Number of further seeds that the undecided gains need."""

    @property
    def counted(self) -> tuple[Standing, ...]:
        """The standings without copies."""
        return tuple(item for item in self.standings if not item.copy_of)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Every flag on a row of the board."""
        return tuple(dict.fromkeys(flag for item in self.standings for flag in item.flags))

    @property
    def judged(self) -> tuple[Standing, ...]:
        """Rows for which it is known whether they may be the best."""
        return tuple(item for item in self.counted if item.in_best_set is not None)

    @property
    def best(self) -> tuple[Standing, ...]:
        """The rows that may be the best; empty if fewer than two rows could be judged."""
        return tuple(item for item in self.judged if item.in_best_set) if len(self.judged) > 1 else ()

    @property
    def judges_all(self) -> bool:
        """Whether every measured row could be judged."""
        return len(self.judged) == sum(item.sample is not None for item in self.counted)

    @property
    def higher(self) -> tuple[Standing, ...]:
        """Rows that could not be judged and are above all judged rows: one of them may be better."""
        means = [item.sample.mean for item in self.standings if item.sample and item.in_best_set is not None]
        top = max(means, default=math.inf)
        alone = (item for item in self.counted if item.in_best_set is None)
        return tuple(item for item in alone if item.sample and item.sample.mean > top)

    @property
    def order(self) -> Order | None:
        """Kendall's tau of our order of the rows against the paper's; None for fewer than two rows that both have.

        Copies count once, with the mean of the paper's figures for them.
        """
        ours: dict[str, list[float]] = {}
        theirs: dict[str, list[float]] = {}
        for item in self.standings:
            if item.sample and item.published is not None:
                ours.setdefault(item.copy_of or item.name, []).append(item.sample.mean)
                theirs.setdefault(item.copy_of or item.name, []).append(item.published)
        return kendall([fmean(means) for means in ours.values()], [fmean(figures) for figures in theirs.values()])


def boards(evidence: Evidence) -> tuple[Board, ...]:
    """Return a board for each figure that at least one row has. Explored recipes are left out: scores chose them."""
    return tuple(_board(evidence, figure) for figure in evidence.row_figures)


def verdict(gain: Comparison | None, p_holm: float | None, blocked: bool) -> Verdict:
    """Return the verdict on a gain, by its adjusted p. `blocked`: a flag forbids a verdict."""
    if gain is None:
        return "missing"
    if blocked:
        return "no verdict"
    if gain.one_seed:
        return "undecided: one seed"
    if p_holm is None or p_holm >= SURE:
        return "undecided"
    return "above" if gain.gain > 0 else "below"


def _board(evidence: Evidence, figure: Quantity) -> Board:
    results = evidence.results
    hashes, baseline = evidence.rows, results.space.baseline
    base = hashes.get(baseline or "")
    gains = {
        label: None if base is None or key == base else evidence.compare(key, base, figure)
        for label, key in hashes.items()
    }
    blocked = {label: () if base is None else evidence.between(key, base, figure) for label, key in hashes.items()}
    p_values = [gain.p if gain and not blocked[label] else None for label, gain in gains.items()]
    counted_hashes = {label: results.counted_as(key) for label, key in hashes.items()}
    counted: dict[str, str] = {}  # by hash the label that counts: the baseline, or else the first row
    for label in sorted(counted_hashes, key=lambda label: label != baseline):
        counted.setdefault(counted_hashes[label], label)
    adjusted = dict(zip(gains, holm(p_values, [*counted_hashes.values()]), strict=True))
    best, ranks = _best_and_ranks(
        evidence, {label: hashes[label] for label in hashes if counted[counted_hashes[label]] == label}, figure
    )
    standings = []
    for label, key in hashes.items():
        gain, first = gains[label], counted[counted_hashes[label]]
        tasks = None if gain is None or base is None or blocked[label] else evidence.outcomes(key, base, figure)
        decided = [(task, change) for task, (change, sure) in (tasks or {}).items() if sure]
        lost = tuple((task, change) for task, change in decided if change < 0)
        standings.append(
            Standing(
                recipe_hash=key,
                name=label,
                sample=evidence.sample(key, figure),
                gain=gain,
                p_holm=adjusted[label],
                verdict="baseline" if key == base else verdict(gain, adjusted[label], bool(blocked[label])),
                blocked_by=blocked[label] if gain else (),
                flags=evidence.flags.of_recipe(key, figure.parts),
                wins=None if tasks is None else len(decided) - len(lost),
                ties=None if tasks is None else len(tasks) - len(decided),
                losses=None if tasks is None else len(lost),
                in_best_set=best.get(first),
                ranks=ranks.get(first),
                copy_of="" if first == label else first,
                collapsed=len(evidence.collapses.get(key, ())),
                lost=lost,
                published=_published(evidence, figure, label),
            )
        )
    standings.sort(key=lambda item: -math.inf if item.sample is None else item.sample.mean, reverse=True)
    named = baseline if base and evidence.sample(base, figure) else None
    return Board(figure, named, tuple(standings), _more_seeds(evidence, standings, figure, base))


def _more_seeds(evidence: Evidence, standings: Sequence[Standing], figure: Quantity, base: str | None) -> SeedsWanted:
    """Return the further seeds that undecided gains need. Rows that measured no gain get none, as losses need no
    proof."""
    counted = [standing for standing in standings if not standing.copy_of]
    open_ones = [standing for standing in counted if standing.verdict.startswith("undecided")]
    if base is None or not open_ones:
        return SeedsWanted()
    judged = sum(standing.verdict not in ("baseline", "missing", "no verdict") for standing in counted)
    more = {
        standing.name: evidence.more_seeds(standing.recipe_hash, base, figure, 0.0, SURE / judged)
        for standing in open_ones
    }
    lower = [item.name for item in open_ones if item.gain and item.gain.gain <= 0 and more[item.name] is not None]
    return SeedsWanted({name: needed for name, needed in more.items() if name not in lower}, tuple(lower))


def _best_and_ranks(
    evidence: Evidence, hashes: Mapping[str, str], figure: Quantity
) -> tuple[dict[str, bool | None], dict[str, tuple[int, int] | None]]:
    """By label: whether the row may be the best, and the ranks that it may have. Only the largest group of rows that
    may all be compared with each other is judged; of equally large groups, one with the baseline."""
    samples = {label: sample for label, key in hashes.items() if (sample := evidence.sample(key, figure))}
    free = {
        (first, other)
        for first in samples
        for other in samples
        if first == other or not evidence.between(hashes[first], hashes[other], figure)
    }
    base = evidence.results.space.baseline
    groups = (_all_free(start, samples, free) for start in samples)
    group = max(groups, key=lambda group: (len(group), base in group), default=[])
    judged = [samples[label] for label in group]
    if sum(map(can_be_judged, judged)) < 2:
        return {}, {}
    p_factor = evidence.p_factor(*judged)
    compared = Field.of(judged, evidence.common(figure))
    best, ranks = best_set(compared, p_factor), rank_intervals(compared, p_factor)
    return dict(zip(group, best, strict=True)), dict(zip(group, ranks, strict=True))


def _all_free(start: str, labels: Iterable[str], free: set[tuple[str, str]]) -> list[str]:
    """Return `start` and each further label that may be compared with all labels before it in the list."""
    group = [start]
    for label in labels:
        if label != start and all((label, other) in free for other in group):
            group.append(label)
    return group


def _published(evidence: Evidence, figure: Quantity, label: str) -> float | None:
    """The paper's gain for this row (its figure, if the space has no baseline), from the first table that prints it."""
    results = evidence.results
    printed = results.published if results.space.baseline is None else results.published_gain
    figures = (
        printed(table, label, column.name)
        for table in results.space.tables
        if label in {row for _, row in table.rows}
        for column in table.columns
        if quantity(table, column) == figure
    )
    return next((value for value in figures if value is not None), None)
