"""Whether a gain may be memory: where training saw texts of some test items, and what it is compared with did not."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from reports.facts.evidence import Evidence
from reports.facts.predictions import Predictions
from reports.facts.quantity import Quantity
from reports.ledger import Record
from reports.statistics import Comparison
from reports.statistics.influence import most_of_memory
from trainables.record_parts import TaskScores
from trainables.senteval.items import SEEN, Answers
from trainables.senteval.tasks import TASKS

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


def on_unseen(evidence: Evidence, recipes: Sequence[str], figure: Quantity) -> Evidence | None:
    """The evidence of these recipes on the test items of which no training of theirs saw a text. None where trials do
    not say which these are, or the figure does not follow from them."""
    results, seen = evidence.results, dict[str, np.ndarray]()
    records = [(record, recipe in results.trained) for recipe in recipes for record in results.recipes[recipe]]
    for record, trained in records:
        for task in figure.tasks:
            answers = results.predictions.of_task(record, task)
            if answers is None or (trained and SEEN not in answers.more):
                return None
            own = answers.more[SEEN].astype(bool) if trained else np.zeros(len(answers.gold), dtype=bool)
            if len(seen.setdefault(task, own)) != len(own):
                return None
            seen[task] = seen[task] | own
    if all(each.all() for each in seen.values()):
        return None
    predictions = _OfUnseen(results.predictions, seen)
    rescored = [predictions.rescored(record) for record, _ in records]
    if any(record.scores[task].get(number) is None for record in rescored for task, number in figure.weights):
        return None
    view = dataclasses.replace(results, records=rescored)
    vars(view)["predictions"] = predictions
    return Evidence(view)


class _OfUnseen(Predictions):
    """Predictions without the test items that training saw."""

    def __init__(self, whole: Predictions, seen: Mapping[str, np.ndarray]) -> None:
        super().__init__(whole.folder)
        self._whole, self._seen = whole, seen
        self._answers: dict[tuple[str, str], Answers | None] = {}

    def of_task(self, record: Record, task: str) -> Answers | None:
        if (record.key, task) not in self._answers:  # once, since numbers and effects are kept with the answers
            answers = self._whole.of_task(record, task)
            some = answers is not None and task in self._seen
            self._answers[record.key, task] = answers.only(~self._seen[task]) if answers and some else answers
        return self._answers[record.key, task]

    def rescored(self, record: Record) -> Record:
        """The record with the numbers of what is left; None of those that do not follow from it."""

        def numbers(task: str, before: TaskScores) -> TaskScores:
            tested = [name for name in TASKS[task].numbers if not name.startswith("dev_")] if task in self._seen else []
            return cast(TaskScores, {**before, **dict.fromkeys(tested), **self.again(record, task)})

        return dataclasses.replace(
            record,
            evaluations=[
                dataclasses.replace(each, scores={task: numbers(task, own) for task, own in each.scores.items()})
                for each in record.evaluations
            ],
        )


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
