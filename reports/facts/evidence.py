"""Evidence of a results folder: each recipe's figures as samples, and comparisons of any two recipes.

    evidence = Evidence.of(results)
    evidence.compare(first_hash, second_hash, figure)

`boards.py` uses it to compare the rows with the baseline, `claim_verdicts.py` to judge the paper's claims.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import numpy as np

from reports.facts.cached import cached
from reports.facts.guards import Flag, Flags, find_flags
from reports.facts.looks import level_share, look_number
from reports.facts.more_seeds import more_seeds
from reports.facts.quantity import Quantity
from reports.facts.results import Results
from reports.ledger import Record
from reports.statistics import Comparison, Sample, compare, holm
from reports.statistics.collapse import collapsed
from reports.statistics.influence import mcnemar
from reports.statistics.pairing import pair_by_seed, same_seeds
from reports.statistics.power import Spread, pooled_spread
from reports.statistics.sample import pairable
from reports.statistics.sequential import race_p_factor
from reports.statistics.spreads import CommonSpread, common_spread
from trainables.senteval.tasks import TASKS

SURE = 0.05
"""Largest allowed probability that any verdict of a board, or any verdict on a report's claims, is wrong."""


class Evidence:
    """The samples of a study and their comparisons; each is computed once."""

    def __init__(self, results: Results) -> None:
        self.results = results

    @staticmethod
    @cached
    def of(results: Results) -> Evidence:
        """Return the evidence of these results; made once."""
        return Evidence(results)

    @cached_property
    def flags(self) -> Flags:
        """The flags of all guards."""
        return find_flags(self.results)

    @cached_property
    def rows(self) -> dict[str, str]:
        """By label, the recipe hashes of the rows that can be run."""
        hashes = self.results.info.row_hashes
        return {label: key for label in self.results.asked_rows if (key := hashes[label])}

    @property
    def figures(self) -> list[Quantity]:
        """The figures that sum the study up (`Results.figures`)."""
        return self.results.figures

    @cached_property
    def row_figures(self) -> list[Quantity]:
        """Those of `figures` that at least one row has."""
        return [figure for figure in self.figures if any(self.sample(key, figure) for key in self.rows.values())]

    # Samples

    @cached
    def sample(self, recipe_hash: str, figure: Quantity) -> Sample | None:
        """Return a recipe's figure under every seed that has it, with the test items' effects if all seeds kept them.

        Trials under another protocol, and collapsed ones (`collapses`), are left out. None if no seed has the figure.
        """
        valued = [
            (record, value)
            for record in self.results.recipes.get(recipe_hash, [])
            if record.seed not in self.collapses.get(recipe_hash, ())
            and (value := figure.of(record.scores)) is not None
        ]
        if not valued:
            return None
        effects = [self._effects(record, figure) for record, _ in valued]
        measured = [effect for effect in effects if effect is not None]
        same = len(measured) == len(valued) and len({items for _, items in measured}) == 1
        return Sample(
            np.array([value for _, value in valued]),
            tuple(record.seed for record, _ in valued),
            fixed=recipe_hash in self.results.fixed,
            effects=np.stack([effect for effect, _ in measured]) if same else None,
            items=measured[0][1] if same else "",
        )

    @cached_property
    def collapses(self) -> dict[str, list[int]]:
        """By recipe hash, the seeds under which training collapsed in any of the figures that sum the study up."""
        seeds_of: dict[str, set[int]] = {}
        for recipe_hash in self.results.trained:
            for figure in self.figures:
                records = self.results.recipes[recipe_hash]
                valued = [(record.seed, value) for record in records if (value := figure.of(record.scores)) is not None]
                if valued:
                    fell = collapsed([value for _, value in valued], chance_of(figure))
                    seeds_of.setdefault(recipe_hash, set()).update(valued[index][0] for index in np.flatnonzero(fell))
        return {recipe_hash: sorted(seeds) for recipe_hash, seeds in seeds_of.items() if seeds}

    def _effects(self, record: Record, figure: Quantity) -> tuple[np.ndarray, str] | None:
        """Return (items,) effects of all tasks, one task after the other, times the tasks' weights, and a name of the
        items. None if predictions of a task are missing.

        Effects on several numbers of one task that are scored on the same items are added.
        """
        by_items: dict[str, np.ndarray] = {}
        for (task, number), weight in sorted(figure.weights.items()):
            stored = self.results.predictions.effects(record, task, number)
            if stored is None:
                return None
            effect, items = np.float32(weight) * stored[0], stored[1]
            by_items[items] = by_items[items] + effect if items in by_items else effect
        return np.concatenate(list(by_items.values())), " ".join(by_items)

    @property
    def ungrouped(self) -> list[str]:
        """Tasks of the boards whose items count as independent because it is unknown which items form groups."""
        parts = [part for figure in self.row_figures for part in sorted(figure.weights)]
        trials = [trial for own in self.results.recipes.values() for trial in own]
        of_number = self.results.predictions.of_number
        answers = [(task, of_number(trial, task, number)) for task, number in parts for trial in trials]
        return list(dict.fromkeys(task for task, each in answers if each and each.groups is None))

    # Comparisons

    @cached
    def compare(self, first_hash: str, second_hash: str, figure: Quantity) -> Comparison | None:
        """Return the comparison "first minus second"; None if either lacks the figure. Flags have no effect here."""
        base = self.results.baseline_hash
        if first_hash == base != second_hash:
            comparison = self.compare(second_hash, first_hash, figure)
            return None if comparison is None else comparison.flipped()
        first, second = self.sample(first_hash, figure), self.sample(second_hash, figure)
        if first is None or second is None:
            return None
        comparison = compare(
            first,
            second,
            common=self.common(figure),
            paired=same_seeds(first, second) and self._seeds_move_together(figure),
            p_factor=self.p_factor(first, second),
            between_rows=second_hash != base,
        )
        exact = self._exact_p(first_hash, second_hash, figure)
        return comparison if exact is None else replace(comparison, p=min(1.0, comparison.p_factor * exact))

    def p_factor(self, *samples: Sample, further: int = 0) -> float:
        """Return the factor on p-values in a report on these trials, or `further` reports on new trials later
        (`looks.py`). It is larger if a race over seeds chose the numbers of seeds."""
        info = self.results.info
        at_this_look = 1 / level_share(look_number(self.results, "rows") + further)
        counts = [sample.count for sample in samples if not sample.fixed]
        if info.most_seeds is None or not info.raced or not counts:
            return at_this_look
        return at_this_look * max(race_p_factor(count, len(info.seeds), info.most_seeds) for count in counts)

    def _exact_p(self, first_hash: str, second_hash: str, figure: Quantity) -> float | None:
        """Return McNemar's p if the figure is one accuracy and both recipes are fixed; otherwise None."""
        first, second = self.sample(first_hash, figure), self.sample(second_hash, figure)
        if first is None or second is None or not (first.fixed and second.fixed and pairable(first, second)):
            return None
        if len(figure.weights) > 1:
            return None
        records = self.results.recipes[first_hash][0], self.results.recipes[second_hash][0]
        hits = [self.results.predictions.hits(record, *next(iter(figure.weights))) for record in records]
        return None if hits[0] is None or hits[1] is None else mcnemar(hits[0], hits[1])

    @cached
    def _seeds_move_together(self, figure: Quantity) -> bool:
        """Whether rows are compared seed by seed in this figure; one decision for all rows."""
        base = self.results.baseline_hash
        order = sorted(dict.fromkeys(map(self.results.counted_as, self.rows.values())), key=lambda key: key != base)
        samples = [sample for key in order if (sample := self.sample(key, figure)) and not sample.fixed]
        return len(samples) > 1 and pair_by_seed(samples[0], samples[1:])

    def between(self, first_hash: str, second_hash: str, figure: Quantity) -> tuple[Flag, ...]:
        """Return the flags that forbid a verdict on the two recipes in this figure."""
        return self.flags.between(first_hash, second_hash, figure.parts)

    def outcomes(self, first_hash: str, second_hash: str, figure: Quantity) -> dict[str, tuple[float, bool]] | None:
        """Return by task the gain of the first recipe, and whether it is beyond chance (Holm over the figure's tasks).

        None with one seed, and if a recipe is missing.
        """
        parts = figure.by_task()
        compared = ((task, self.compare(first_hash, second_hash, part)) for task, part in parts.items())
        measured = {task: item for task, item in compared if item is not None}
        if not measured or any(item.one_seed for item in measured.values()):
            return None
        free = {task: not self.between(first_hash, second_hash, parts[task]) for task in measured}
        adjusted = holm([item.p if free[task] else None for task, item in measured.items()])
        sure = [p is not None and p < SURE for p in adjusted]
        return {task: (item.gain, decided) for (task, item), decided in zip(measured.items(), sure, strict=True)}

    def more_seeds(
        self, first_hash: str, second_hash: str, figure: Quantity, bound: float, alpha: float
    ) -> float | None:
        """Return how many more seeds than the study's own would show, at power 80 %, that the two recipes' difference
        is not `bound`; 0 if the study only has to be finished.

        Otherwise the same as `reports.facts.more_seeds.more_seeds`; also None if a figure is missing.
        """
        first, second = self.sample(first_hash, figure), self.sample(second_hash, figure)
        if first is None or second is None:
            return None
        later = alpha / self.p_factor(first, second, further=1)
        more = more_seeds(first, second, bound, later, *self._scatter(figure))
        if more is None or more == math.inf:
            return more
        fewest = min(sample.count for sample in (first, second) if not sample.fixed)
        collapsed = max(len(self.collapses.get(key, ())) for key in (first_hash, second_hash))  # ran, but not counted
        return max(0, fewest + collapsed + more - len(self.results.info.seeds))

    def common(self, figure: Quantity) -> CommonSpread:
        """Return the spread over seeds that is common to the rows."""
        return self._scatter(figure)[1]

    @cached
    def _scatter(self, figure: Quantity) -> tuple[Spread | None, CommonSpread]:
        """The rows' `pooled_spread` and `common_spread` over seeds."""
        keys = dict.fromkeys(map(self.results.counted_as, self.results.labels))
        samples = [sample for key in keys if (sample := self.sample(key, figure)) is not None]
        return pooled_spread(samples), common_spread(samples)


def chance_of(figure: Quantity) -> float:
    """Return the score of guessing in the figure, in points; 0 for a correlation, and if it is unknown."""
    return math.fsum(
        weight * (TASKS[task].chance or 0.0)
        for (task, number), weight in figure.weights.items()
        if number.endswith("accuracy") and task in TASKS
    )
