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
"""Of a row against the baseline, at 5 % over the whole board (Holm). `no verdict`: a flag stands between the two;
`missing`: the row or the baseline is not measured."""


@dataclass(frozen=True)
class Standing:
    """A recipe on a board."""

    recipe_hash: str
    name: str
    """The row's label."""
    sample: Sample | None
    """None where the figure is missing."""
    gain: Comparison | None
    """Over the baseline; None for the baseline itself and where either is missing."""
    p_holm: float | None
    """Over all gains of the board that may get a verdict; None for the others."""
    verdict: Verdict
    blocked_by: tuple[Flag, ...]
    """The flags between it and the baseline that forbid a verdict."""
    flags: tuple[Flag, ...]
    """Every flag that touches the recipe in this figure."""
    wins: int | None
    ties: int | None
    losses: int | None
    """Over the quantity's tasks, against the baseline: by the p of each task at 5 %, Holm over its tasks. None where
    there is no gain, or one seed."""
    in_best_set: bool | None
    """None where it cannot be said: one seed, or a flag that forbids a verdict."""
    ranks: tuple[int, int] | None
    """The best and the worst rank that the data allow at 95 %, all rows at once."""
    copy_of: str = ""
    """The label of the row that this one is a copy of and is counted with; empty for the row that counts."""
    collapsed: int = 0
    """Under so many seeds more its training collapsed; the sample, and all that follows from it, is without them."""
    lost: tuple[tuple[str, float], ...] = ()
    """The tasks that it loses, each with its gain."""
    published: float | None = None
    """The paper's gain over its baseline, in points; its figure where the space has no baseline."""


@dataclass(frozen=True)
class Board:
    """Every row of the study that has a figure which sums the study up, best first."""

    quantity: Quantity
    baseline: str | None
    """The label; None where the baseline is not measured, so that there are no gains."""
    standings: tuple[Standing, ...]
    more_seeds: SeedsWanted = field(default_factory=SeedsWanted)
    """For the gains that are open."""

    @property
    def counted(self) -> tuple[Standing, ...]:
        """Without copies: each recipe once."""
        return tuple(item for item in self.standings if not item.copy_of)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Every flag that touches a row of it."""
        return tuple(dict.fromkeys(flag for item in self.standings for flag in item.flags))

    @property
    def judged(self) -> tuple[Standing, ...]:
        """The rows of which can be said whether they may be the best."""
        return tuple(item for item in self.counted if item.in_best_set is not None)

    @property
    def best(self) -> tuple[Standing, ...]:
        """The rows that may be the best; none where fewer than two could be judged."""
        return tuple(item for item in self.judged if item.in_best_set) if len(self.judged) > 1 else ()

    @property
    def judges_all(self) -> bool:
        """Whether every row that is measured could be judged."""
        return len(self.judged) == sum(item.sample is not None for item in self.counted)

    @property
    def higher(self) -> tuple[Standing, ...]:
        """The rows that could not be judged and lie above all that could: one of them may be better."""
        means = [item.sample.mean for item in self.standings if item.sample and item.in_best_set is not None]
        top = max(means, default=math.inf)
        alone = (item for item in self.counted if item.in_best_set is None)
        return tuple(item for item in alone if item.sample and item.sample.mean > top)

    @property
    def order(self) -> Order | None:
        """Kendall's tau of our order of the rows against the paper's; None for fewer than two rows that both have.

        Copies count once, with the mean of what the paper prints of them.
        """
        ours: dict[str, list[float]] = {}
        theirs: dict[str, list[float]] = {}
        for item in self.standings:
            if item.sample and item.published is not None:
                ours.setdefault(item.copy_of or item.name, []).append(item.sample.mean)
                theirs.setdefault(item.copy_of or item.name, []).append(item.published)
        return kendall([fmean(means) for means in ours.values()], [fmean(figures) for figures in theirs.values()])


def boards(evidence: Evidence) -> tuple[Board, ...]:
    """One for each figure that at least one row has. Explored recipes are not on it: they were chosen by score."""
    return tuple(_board(evidence, figure) for figure in evidence.shown)


def verdict(gain: Comparison | None, p_holm: float | None, blocked: bool) -> Verdict:
    """Of a gain, by its adjusted p; `blocked`: a flag forbids it."""
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
    chances = [gain.p if gain and not blocked[label] else None for label, gain in gains.items()]
    once = {label: results.once(key) for label, key in hashes.items()}
    counted: dict[str, str] = {}  # of copies the baseline, or else the first row
    for label in sorted(once, key=lambda label: label != baseline):
        counted.setdefault(once[label], label)
    adjusted = dict(zip(gains, holm(chances, [*once.values()]), strict=True))
    best, ranks = _places(evidence, {label: hashes[label] for label in hashes if counted[once[label]] == label}, figure)
    standings = []
    for label, key in hashes.items():
        gain, first = gains[label], counted[once[label]]
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
    """For the open gains; none are spent on proving that a row is worse."""
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


def _places(
    evidence: Evidence, hashes: Mapping[str, str], figure: Quantity
) -> tuple[dict[str, bool | None], dict[str, tuple[int, int] | None]]:
    """The best set and the ranks, among the most rows that may all be compared with each other; of as many, among
    those that may be compared with the baseline."""
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
    wary = evidence.looks(*judged)
    compared = Field.of(judged, evidence.common(figure))
    best, ranks = best_set(compared, wary), rank_intervals(compared, wary)
    return dict(zip(group, best, strict=True)), dict(zip(group, ranks, strict=True))


def _all_free(start: str, labels: Iterable[str], free: set[tuple[str, str]]) -> list[str]:
    """Rows that may all be compared with each other, from one on, in their order."""
    group = [start]
    for label in labels:
        if label != start and all((label, other) in free for other in group):
            group.append(label)
    return group


def _published(evidence: Evidence, figure: Quantity, label: str) -> float | None:
    """From the first of the paper's tables that prints this figure of the row."""
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
