"""What a results folder proves: each recipe's figures as samples, each row against the baseline, the best set.

evidence = Evidence.of(results)
for board in evidence.boards:          # one for each figure that sums the study up
    for standing in board.standings:
        print(standing.name, standing.sample.mean, standing.gain, standing.verdict)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from reports.guards import Flag, Flags, find_flags
from reports.looks import look, share
from reports.markdown import count
from reports.more_seeds import in_words, more_seeds
from reports.quantity import Quantity, quantity
from reports.statistics import Comparison, Field, Sample, best_set, compare, holm, rank_intervals
from reports.statistics.collapse import collapsed
from reports.statistics.families import can_be_judged
from reports.statistics.influence import mcnemar
from reports.statistics.pairing import pair_by_seed, same_seeds
from reports.statistics.power import Spread, pooled_spread
from reports.statistics.sample import pairable
from reports.statistics.sequential import looks
from reports.statistics.spreads import Common, common_spread
from trainables.senteval.tasks import TASKS

if TYPE_CHECKING:
    from reports.ledger import Record
    from reports.results import Results

SURE = 0.05
"""A verdict may be wrong this often, over a whole board or all claims of a report."""

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
    seeds_needed: int | None
    """So many more seeds of each row than the study's own would settle the open gains that are as large as measured, at
    power 80 %; 0 where the study only has to be finished, None where nothing is open, or no number of seeds would."""
    settles: str = ""
    """In words: what those seeds would settle, or why none would."""
    settled: tuple[str, ...] = ()
    """The labels of the rows whose gains those seeds would settle."""

    @property
    def counted(self) -> tuple[Standing, ...]:
        """Without copies: each recipe once."""
        return tuple(item for item in self.standings if not item.copy_of)


class Evidence:
    """The samples and boards of a study, computed once."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self._samples: dict[tuple[str, Any], Sample | None] = {}
        self._compared: dict[tuple[str, str, Any], Comparison | None] = {}
        self._paired: dict[Any, bool] = {}
        self._spreads: dict[Any, tuple[Spread | None, Common]] = {}
        self._known: dict[tuple[str, str], tuple[bool, bool]] = {}

    @classmethod
    def of(cls, results: Results) -> Evidence:
        """The one evidence of these results, kept with them."""
        kept = vars(results)
        if "evidence" not in kept:
            kept["evidence"] = cls(results)
        found: Evidence = kept["evidence"]
        return found

    @cached_property
    def flags(self) -> Flags:
        """What every guard found."""
        return find_flags(self.results)

    # Samples

    def sample(self, recipe_hash: str, figure: Quantity) -> Sample | None:
        """A recipe's figure under every seed that has it, with the effects of the test items where all seeds kept them.

        Of the study's protocol only, and without seeds under which training collapsed (`collapses`). None where no seed
        has it.
        """
        key = (recipe_hash, figure.key)
        if key not in self._samples:
            self._samples[key] = self._sample(recipe_hash, figure)
        return self._samples[key]

    def _sample(self, recipe_hash: str, figure: Quantity) -> Sample | None:
        valued = [
            (record, value)
            for record in self.results.recipes.get(recipe_hash, [])
            if record.seed not in self.collapses.get(recipe_hash, ())
            and (value := figure.of(record.scores)) is not None
        ]
        if not valued:
            return None
        effects = [self._effects(record, figure) for record, _ in valued]
        known = [effect for effect in effects if effect is not None]
        same = len(known) == len(valued) and len({items for _, items in known}) == 1
        return Sample(
            np.array([value for _, value in valued]),
            tuple(record.seed for record, _ in valued),
            fixed=recipe_hash in self.results.fixed,
            effects=np.stack([effect for effect, _ in known]) if same else None,
            items=known[0][1] if same else "",
        )

    @cached_property
    def collapses(self) -> dict[str, list[int]]:
        """By recipe hash the seeds under which its training collapsed, in any of the figures that sum the study up."""
        found: dict[str, set[int]] = {}
        for recipe_hash in self.results.trained:
            for figure in self.figures:
                records = self.results.recipes[recipe_hash]
                valued = [(one.seed, value) for one in records if (value := figure.of(one.scores)) is not None]
                if valued:
                    fell = collapsed([value for _, value in valued], chance_of(figure))
                    found.setdefault(recipe_hash, set()).update(valued[place][0] for place in np.flatnonzero(fell))
        return {recipe_hash: sorted(seeds) for recipe_hash, seeds in found.items() if seeds}

    def _effects(self, record: Record, figure: Quantity) -> tuple[np.ndarray, str] | None:
        """(items,) of all tasks, one after the other, each times its weight; None where a part cannot be told.

        Numbers of one task that are scored on the same items add up.
        """
        by_items: dict[str, np.ndarray] = {}
        for (task, number), weight in sorted(figure.weights.items()):
            named, grouped = self._items_known(task, number)
            found = self.results.predictions.effects(record, task, number, named=named, grouped=grouped)
            if found is None:
                return None
            effect, items = np.float32(weight) * found[0], found[1]
            by_items[items] = by_items[items] + effect if items in by_items else effect
        return np.concatenate(list(by_items.values())), " ".join(by_items)

    def _items_known(self, task: str, number: str) -> tuple[bool, bool]:
        """Whether every trial that kept these predictions says which items they are of, and which of these are drawn
        together; older ones do not."""
        if (task, number) not in self._known:
            kept, records = self.results.predictions, [one for own in self.results.recipes.values() for one in own]
            self._known[task, number] = (
                not any(kept.names(record, task, number) is False for record in records),
                not any(kept.groups(record, task, number) is False for record in records),
            )
        return self._known[task, number]

    @property
    def ungrouped(self) -> list[str]:
        """The tasks of the boards whose items count as independent, since what they share is not known."""
        parts = [part for board in self.boards for part in sorted(board.quantity.weights)]
        return list(dict.fromkeys(task for task, number in parts if not self._items_known(task, number)[1]))

    # Comparisons

    def compare(self, first_hash: str, second_hash: str, figure: Quantity) -> Comparison | None:
        """One recipe minus another; None where either lacks the figure. Flags are another matter: `between`."""
        base = self.results.info.row_hashes.get(self.results.space.baseline or "")
        if first_hash == base != second_hash:
            found = self.compare(second_hash, first_hash, figure)
            return None if found is None else found.flipped()
        key = (first_hash, second_hash, figure.key)
        if key not in self._compared:
            first, second = self.sample(first_hash, figure), self.sample(second_hash, figure)
            self._compared[key] = None
            if first is not None and second is not None:
                found = compare(
                    first,
                    second,
                    common=self.common(figure),
                    paired=same_seeds(first, second) and self._seeds_move_together(figure),
                    looks=self._looks(first, second),
                    between_rows=second_hash != base,
                )
                exact = self._exact_p(first_hash, second_hash, figure)
                self._compared[key] = found if exact is None else replace(found, p=min(1.0, found.looks * exact))
        return self._compared[key]

    def _looks(self, *samples: Sample, further: int = 0) -> float:
        """By how much chance counts more at this look, or at a further one, and where the samples' numbers of seeds
        hang on scores."""
        info = self.results.info
        at_this_look = 1 / share(self._look + further)
        counts = [sample.count for sample in samples if not sample.fixed]
        if info.most_seeds is None or not info.raced or not counts:
            return at_this_look
        return at_this_look * max(looks(count, len(info.seeds), info.most_seeds) for count in counts)

    @cached_property
    def _look(self) -> int:
        return look(self.results)

    def _exact_p(self, first_hash: str, second_hash: str, figure: Quantity) -> float | None:
        """McNemar's, of one accuracy of two recipes that no seed changes; None for anything else."""
        first, second = self.sample(first_hash, figure), self.sample(second_hash, figure)
        if first is None or second is None or not (first.fixed and second.fixed and pairable(first, second)):
            return None
        if len(figure.weights) > 1:
            return None
        records = self.results.recipes[first_hash][0], self.results.recipes[second_hash][0]
        hits = [self.results.predictions.hits(record, *next(iter(figure.weights))) for record in records]
        return None if hits[0] is None or hits[1] is None else mcnemar(hits[0], hits[1])

    def _seeds_move_together(self, figure: Quantity) -> bool:
        """Whether rows are compared seed by seed in this figure; decided once, for all of them."""
        if figure.key not in self._paired:
            row_hashes = self.results.info.row_hashes
            hashes = dict.fromkeys(filter(None, (row_hashes[label] for label in self.results.asked_rows)))
            base = row_hashes.get(self.results.space.baseline or "")
            order = sorted(dict.fromkeys(map(self.results.once, hashes)), key=lambda key: key != base)
            samples = [sample for key in order if (sample := self.sample(key, figure)) and not sample.fixed]
            self._paired[figure.key] = len(samples) > 1 and pair_by_seed(samples[0], samples[1:])
        return self._paired[figure.key]

    def between(self, first_hash: str, second_hash: str, figure: Quantity) -> tuple[Flag, ...]:
        """The flags that forbid a verdict on the two recipes in this figure."""
        return self.flags.between(first_hash, second_hash, figure.parts)

    def outcomes(self, first_hash: str, second_hash: str, figure: Quantity) -> dict[str, tuple[float, bool]] | None:
        """By task the gain of the first, and whether it is more than chance (Holm over the figure's tasks).

        None with one seed, and where a recipe is missing.
        """
        parts = figure.by_task()
        found = {task: self.compare(first_hash, second_hash, part) for task, part in parts.items()}
        there = {task: item for task, item in found.items() if item is not None}
        if not there or any(item.one_seed for item in there.values()):
            return None
        free = {task: not self.between(first_hash, second_hash, parts[task]) for task in there}
        adjusted = holm([item.p if free[task] else None for task, item in there.items()])
        sure = [p is not None and p < SURE for p in adjusted]
        return {task: (item.gain, decided) for (task, item), decided in zip(there.items(), sure, strict=True)}

    def pairs(self, labels: Sequence[str]) -> dict[str, Any]:
        """Every two of these rows by every figure of the boards and every task of these, for JSON.

        `figures` names the columns; `pairs` holds `[first, second, cells]` with the labels' numbers, and a cell is
        `[gain, low, high, why]`, first minus second: None where unknown, and `why` says what forbids a verdict.
        """
        figures = [board.quantity for board in self.boards]
        figures += {name: part for figure in figures for name, part in figure.by_task().items()}.values()
        hashes = [self.results.info.row_hashes.get(label) or "" for label in labels]
        found = [
            [first, second, [self._cell(hashes[first], hashes[second], figure) for figure in figures]]
            for first in range(len(labels))
            for second in range(first + 1, len(labels))
        ]
        return {"labels": list(labels), "figures": [figure.name for figure in figures], "pairs": found}

    def _cell(self, first: str, second: str, figure: Quantity) -> list[float | str | None] | None:
        item = self.compare(first, second, figure)
        if item is None:
            return None
        flags = self.between(first, second, figure)
        why = "one seed" if item.one_seed else ", ".join(dict.fromkeys(flag.guard for flag in flags))
        ends = [None if end is None else round(end, 2) for end in (item.low, item.high)]
        return [round(item.gain, 2), *ends, why]

    # Boards

    @property
    def figures(self) -> list[Quantity]:
        """What sums the study up."""
        return self.results.figures

    @cached_property
    def boards(self) -> tuple[Board, ...]:
        """One for each figure that at least one row has. Explored recipes are not on it: they were chosen by score."""
        boards = [self._board(figure) for figure in self.figures]
        return tuple(board for board in boards if any(standing.sample for standing in board.standings))

    def _board(self, figure: Quantity) -> Board:
        hashes = {label: key for label in self.results.asked_rows if (key := self.results.info.row_hashes[label])}
        baseline = self.results.space.baseline
        base = hashes.get(baseline or "")
        gains = {
            label: None if base is None or key == base else self.compare(key, base, figure)
            for label, key in hashes.items()
        }
        blocked = {label: () if base is None else self.between(key, base, figure) for label, key in hashes.items()}
        chances = [gain.p if gain and not blocked[label] else None for label, gain in gains.items()]
        once = {label: self.results.once(key) for label, key in hashes.items()}
        counted: dict[str, str] = {}  # of copies the baseline, or else the first row
        for label in sorted(once, key=lambda label: label != baseline):
            counted.setdefault(once[label], label)
        adjusted = dict(zip(gains, holm(chances, [*once.values()]), strict=True))
        best, ranks = self._places({label: hashes[label] for label in hashes if counted[once[label]] == label}, figure)
        standings = []
        for label, key in hashes.items():
            gain, first = gains[label], counted[once[label]]
            tasks = None if gain is None or base is None or blocked[label] else self.outcomes(key, base, figure)
            decided = [(task, change) for task, (change, sure) in (tasks or {}).items() if sure]
            lost = tuple((task, change) for task, change in decided if change < 0)
            standings.append(
                Standing(
                    recipe_hash=key,
                    name=label,
                    sample=self.sample(key, figure),
                    gain=gain,
                    p_holm=adjusted[label],
                    verdict="baseline" if key == base else _verdict(gain, adjusted[label], bool(blocked[label])),
                    blocked_by=blocked[label] if gain else (),
                    flags=self.flags.of_recipe(key, figure.parts),
                    wins=None if tasks is None else len(decided) - len(lost),
                    ties=None if tasks is None else len(tasks) - len(decided),
                    losses=None if tasks is None else len(lost),
                    in_best_set=best.get(first),
                    ranks=ranks.get(first),
                    copy_of="" if first == label else first,
                    collapsed=len(self.collapses.get(key, ())),
                    lost=lost,
                    published=self._published(figure, label),
                )
            )
        standings.sort(key=lambda item: -math.inf if item.sample is None else item.sample.mean, reverse=True)
        named = baseline if base and self.sample(base, figure) else None
        return Board(figure, named, tuple(standings), *self._seeds_needed(standings, figure, base))

    def _seeds_needed(
        self, standings: Sequence[Standing], figure: Quantity, base: str | None
    ) -> tuple[int | None, str, tuple[str, ...]]:
        """How many more seeds, in words, and for which rows; none are spent on proving that a row is worse."""
        counted = [standing for standing in standings if not standing.copy_of]
        open_ones = [standing for standing in counted if standing.verdict.startswith("undecided")]
        if base is None or not open_ones:
            return None, "", ()
        judged = sum(standing.verdict not in ("baseline", "missing", "no verdict") for standing in counted)
        more = {
            standing.name: self.more_seeds(standing.recipe_hash, base, figure, 0.0, SURE / judged)
            for standing in open_ones
        }
        lower = [item.name for item in open_ones if item.gain and item.gain.gain <= 0 and more[item.name] is not None]
        seeds, words, names = in_words({name: needed for name, needed in more.items() if name not in lower}, "gain")
        if not lower:
            return seeds, words, names
        loss = f"{count(len(lower), 'row')} measured no higher than the baseline, and a loss is not worth proving."
        return seeds, f"{words.rstrip('.')}; {loss}" if words else loss, names

    def more_seeds(
        self, first_hash: str, second_hash: str, figure: Quantity, bound: float, alpha: float
    ) -> float | None:
        """So many more seeds than the study's own would show at power 80 % that the two recipes' difference is not
        `bound`; 0 where the study only has to be finished.

        Else as `reports.more_seeds.more_seeds`; None, too, where a figure is missing.
        """
        first, second = self.sample(first_hash, figure), self.sample(second_hash, figure)
        if first is None or second is None:
            return None
        later = alpha / self._looks(first, second, further=1)
        more = more_seeds(first, second, bound, later, *self._scatter(figure))
        if more is None or more == math.inf:
            return more
        there = min(sample.count for sample in (first, second) if not sample.fixed)
        collapsed = max(len(self.collapses.get(key, ())) for key in (first_hash, second_hash))  # ran, and do not count
        return max(0, there + collapsed + more - len(self.results.info.seeds))

    def common(self, figure: Quantity) -> Common:
        """What the rows' spreads between seeds have in common."""
        return self._scatter(figure)[1]

    def _scatter(self, figure: Quantity) -> tuple[Spread | None, Common]:
        """Between seeds: pooled over the rows, and what they have in common."""
        if figure.key not in self._spreads:
            keys = dict.fromkeys(map(self.results.once, self.results.labels))
            found = [sample for key in keys if (sample := self.sample(key, figure)) is not None]
            self._spreads[figure.key] = pooled_spread(found), common_spread(found)
        return self._spreads[figure.key]

    def _places(
        self, hashes: dict[str, str], figure: Quantity
    ) -> tuple[dict[str, bool | None], dict[str, tuple[int, int] | None]]:
        """The best set and the ranks, among the most rows that may all be compared with each other; of as many, among
        those that may be compared with the baseline."""
        samples = {label: sample for label, key in hashes.items() if (sample := self.sample(key, figure))}
        free = {
            (one, other)
            for one in samples
            for other in samples
            if one == other or not self.between(hashes[one], hashes[other], figure)
        }
        base = self.results.space.baseline
        groups = (_all_free(start, samples, free) for start in samples)
        group = max(groups, key=lambda group: (len(group), base in group), default=[])
        judged = [samples[label] for label in group]
        if sum(map(can_be_judged, judged)) < 2:
            return {}, {}
        wary = self._looks(*judged)
        field = Field.of(judged, self.common(figure))
        best, ranks = best_set(field, wary), rank_intervals(field, wary)
        return dict(zip(group, best, strict=True)), dict(zip(group, ranks, strict=True))

    def _published(self, figure: Quantity, label: str) -> float | None:
        """From the first of the paper's tables that prints this figure of the row."""
        results = self.results
        printed = results.published if results.space.baseline is None else results.published_gain
        found = (
            printed(table, label, column.name)
            for table in results.space.tables
            if label in {row for _, row in table.rows}
            for column in table.columns
            if quantity(table, column).key == figure.key
        )
        return next((value for value in found if value is not None), None)


def _all_free(start: str, labels: Iterable[str], free: set[tuple[str, str]]) -> list[str]:
    """Rows that may all be compared with each other, from one on, in their order."""
    group = [start]
    for label in labels:
        if label != start and all((label, other) in free for other in group):
            group.append(label)
    return group


def chance_of(figure: Quantity) -> float:
    """What guessing scores in the figure, in points; 0 for a correlation, and where it is not known."""
    known = {(task, number): TASKS[task].chance for task, number in figure.weights if task in TASKS}
    return math.fsum(
        weight * (known.get((task, number)) or 0.0)
        for (task, number), weight in figure.weights.items()
        if number.endswith("accuracy")
    )


def _verdict(gain: Comparison | None, p_holm: float | None, blocked: bool) -> Verdict:
    if gain is None:
        return "missing"
    if blocked:
        return "no verdict"
    if gain.one_seed:
        return "undecided: one seed"
    if p_holm is None or p_holm >= SURE:
        return "undecided"
    return "above" if gain.gain > 0 else "below"
