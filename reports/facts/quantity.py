"""Figures that a report compares: weighted sums of a trial's task scores."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from search_spaces.averages import AVERAGES
from search_spaces.goals import Goal
from search_spaces.paper import Average, Column, Scores, Table
from trainables.senteval.tasks import TASKS, kind_of

Weights = Mapping[tuple[str, str], float]
"""Weights of scores, by task and name of the score, such as `("STS12", "spearman_wmean")`."""


@dataclass(frozen=True, eq=False)
class Quantity:
    """A figure of a trial as a weighted sum of task scores: `{("STS12", "spearman_wmean"): 0.2, ...}`. Figures of equal
    weights are equal, whatever their names."""

    name: str
    weights: Weights

    @cached_property
    def tasks(self) -> frozenset[str]:
        """Tasks whose scores are in the sum."""
        return frozenset(task for task, _ in self.weights)

    @cached_property
    def parts(self) -> frozenset[str]:
        """Names of the items behind the sum: a task's name for its test items, `dev.TASK` for its development items."""
        return frozenset(part_of(task, number) for task, number in self.weights)

    @cached_property
    def _key(self) -> tuple[tuple[tuple[str, str], float], ...]:
        return tuple(sorted((score, round(weight, 12)) for score, weight in self.weights.items()))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self._key == other._key

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest possible value of the figure."""
        parts = [
            sorted(weight * end for end in kind_of(task).range_of(number)) if task in TASKS else (-math.inf, math.inf)
            for (task, number), weight in self.weights.items()
        ]
        return math.fsum(low for low, _ in parts), math.fsum(high for _, high in parts)

    def of(self, scores: Scores) -> float | None:
        """Return the figure's value in a record's scores; None if one of the scores is missing."""
        values: list[tuple[float, Any]] = [
            (weight, scores.get(task, {}).get(number)) for (task, number), weight in self.weights.items()
        ]
        if any(value is None for _, value in values):
            return None
        return math.fsum(weight * value for weight, value in values)

    def minus(self, other: Quantity) -> Quantity:
        """Return the figure "this minus other", both of one trial."""
        return Quantity(f"{self.name} minus {other.name}", _sum([(1.0, self.weights), (-1.0, other.weights)]))

    def on(self, tasks: Collection[str]) -> Quantity:
        """Return the figure of these tasks alone, with weights that sum to 1."""
        weights = {score: weight for score, weight in self.weights.items() if score[0] in tasks}
        whole = math.fsum(weights.values())
        return Quantity(self.name, {score: weight / whole for score, weight in weights.items()})

    def by_task(self) -> dict[str, Quantity]:
        """Return each task's part of the figure, as a figure of its own on the task's scale."""
        return {task: Quantity(task, self.on({task}).weights) for task in sorted(self.tasks)}


def part_of(task: str, number: str) -> str:
    """Return the name under which the items of the score `number` are stored: `TASK`, or `dev.TASK`."""
    return f"dev.{task}" if number.startswith("dev_") else task


def quantity(table: Table, column: Column, name: str = "") -> Quantity:
    """Return a column of a paper's table as a figure."""
    return Quantity(name or column.name, _of_column(table, column))


def average_quantity(name: str, label: str = "") -> Quantity:
    """Return a paper's average as a figure, named by its label if it has one; `UserError` for an unknown name."""
    return Quantity(label or name, _of_average(AVERAGES[name]))


def goals_quantity(goals: Sequence[Goal], scored: Collection[str]) -> Quantity | None:
    """Return the figure that judges the goals, with equal shares for all goals, on the tasks that were scored; None
    without such tasks, as for costs."""
    shares = [(1.0, Quantity("", goal.test_weights).on(scored)) for goal in goals]
    weights = _sum((share, own.weights) for share, own in shares if own.weights)
    if not weights:
        return None
    whole, [first, *more] = math.fsum(weights.values()), weights
    short = " and ".join(goal.short for goal in goals if goal.test_weights)
    name = f"{short} (mean of {1 + len(more)} tasks)" if more else " ".join(first)
    return Quantity(name, {score: share / whole for score, share in weights.items()})


def development_quantity(goals: Sequence[Goal]) -> Quantity:
    """Return the mean of the goals that are scores; its tasks may differ from those whose tests judge the goals."""
    scores = tuple(goal for goal in goals if not goal.cost)
    return Quantity("development", Goal("", "", parts=scores).development_weights)


def _of_column(table: Table, column: Column) -> Weights:
    if column.score is not None:
        return {column.score: 1.0}
    if column.average is not None:
        return _of_average(AVERAGES[column.average])
    share = 1 / len(column.mean_of)
    return _sum((share, _of_column(table, table.column(name))) for name in column.mean_of)


def _of_average(average: Average) -> Weights:
    share = 1 / (len(average.cells) + len(average.parts))
    cells = [(share / len(numbers), {(task, number): 1.0}) for task, numbers in average.cells for number in numbers]
    return _sum([*cells, *((share, _of_average(part)) for part in average.parts)])


def _sum(parts: Iterable[tuple[float, Weights]]) -> Weights:
    total: dict[tuple[str, str], float] = {}
    for share, weights in parts:
        for score, weight in weights.items():
            total[score] = total.get(score, 0.0) + share * weight
    return total
