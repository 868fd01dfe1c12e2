"""Whether a gain may be memory: one recipe's training saw texts of some test items that the other's did not see.

Items by which recipes were chosen are left out as well: on them the chosen recipe is flattered."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from reports.facts.evidence import Evidence
from reports.facts.predictions import Predictions
from reports.facts.quantity import Quantity
from reports.ledger import Record
from reports.statistics import Comparison, Sample
from trainables.record_parts import TaskScores
from trainables.senteval.items import SEEN, Answers
from trainables.senteval.tasks import TASKS, kind_of

MIN_UNSEEN_ITEMS = 20
"""Smallest number of unseen test items per task for a verdict on them: fewer show too little of their own variance.
At least half of the items must be unseen, too: else the printed gain is mostly one of seen items."""
OVERLAP = "overlap"
"""Name of the guard that looks for test sentences among the training data."""


@dataclass(frozen=True, eq=False)
class Unseen:
    """The samples of two recipes on the test items of which neither recipe's training saw a text."""

    seen: int
    """Number of test items that are left out: training saw a text of them, or a development part holds them."""
    own: Sample
    other: Sample


def on_unseen(evidence: Evidence, recipe_hash: str, other_hash: str, figure: Quantity) -> Unseen | None:
    """Return both recipes' samples on unseen test items. None if trials do not store which items training saw, if these
    are most of a task's, or if the figure cannot be computed from the unseen items."""
    results, seen = evidence.results, dict[str, np.ndarray]()
    pair = recipe_hash, other_hash
    records = [(record, recipe in results.trained) for recipe in pair for record in results.recipes[recipe]]
    for record, trained in records:
        for task in figure.tasks:
            answers = results.predictions.of_task(record, task)
            if answers is None or (trained and SEEN not in answers.further_arrays):
                return None
            marks = answers.further_arrays[SEEN].astype(bool) if trained else np.zeros(len(answers.gold), dtype=bool)
            if len(seen.setdefault(task, marks)) != len(marks):
                return None
            seen[task] = seen[task] | marks
    few = any((~each).sum() < max(MIN_UNSEEN_ITEMS, each.sum()) for each in seen.values())
    if few or any(kind_of(task).target == "images" for task in seen):
        return None
    predictions = _OfUnseen(results.predictions, seen)
    rescored = [predictions.rescored(record) for record, _ in records]
    if any(record.scores[task].get(number) is None for record in rescored for task, number in figure.weights):
        return None
    view = dataclasses.replace(results, records=rescored)
    vars(view)["predictions"] = predictions
    again = Evidence(view)
    vars(again)["collapses"] = evidence.collapses  # on few items a low score could look like a collapse
    own, other = (again.sample(recipe, figure) for recipe in pair)
    if own is None or other is None or own.effect is None or other.effect is None:
        return None
    return Unseen(sum(int(each.sum()) for each in seen.values()), own, other)


def same_verdict(gain: Comparison, other: Comparison) -> bool:
    """Whether both comparisons show a gain, or both a loss. False if neither shows one: items may be too few."""
    if gain.low is None or gain.high is None or other.low is None or other.high is None:
        return False
    return (gain.low > 0 and other.low > 0) or (gain.high < 0 and other.high < 0)


class _OfUnseen(Predictions):
    """Predictions and scores without the test items that training saw."""

    def __init__(self, whole: Predictions, seen: Mapping[str, np.ndarray]) -> None:
        super().__init__(whole.folder)
        self._whole, self._seen = whole, seen
        self._answers: dict[tuple[str, str], Answers | None] = {}

    def of_task(self, record: Record, task: str) -> Answers | None:
        if (record.key, task) not in self._answers:  # made once, since numbers and effects are cached with the answers
            answers = self._whole.of_task(record, task)
            some = answers is not None and task in self._seen
            self._answers[record.key, task] = answers.select(~self._seen[task]) if answers and some else answers
        return self._answers[record.key, task]

    def rescored(self, record: Record) -> Record:
        """Return the record with scores of the remaining items; None for scores that cannot be computed from them."""

        def numbers(task: str, before: TaskScores) -> TaskScores:
            tested = [name for name in TASKS[task].numbers if not name.startswith("dev_")] if task in self._seen else []
            return cast(TaskScores, {**before, **dict.fromkeys(tested), **self.recomputed(record, task)})

        return dataclasses.replace(
            record,
            evaluations=[
                dataclasses.replace(each, scores={task: numbers(task, own) for task, own in each.scores.items()})
                for each in record.evaluations
            ],
        )
