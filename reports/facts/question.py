"""The figures that an answer may be about, and the tasks without fresh test items."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from reports.facts.quantity import Quantity, goals_quantity
from reports.facts.results import Results
from search_spaces.goals import needed
from trainables.senteval.tasks import TASKS, kind_of


def has_no_test(task: str) -> bool:
    """Whether the task's development scores come from the tested items (nested cross-validation), or it has no test."""
    splits = kind_of(task).splits
    return (bool(splits) and "test" not in splits) or all(name.startswith("dev_") for name in TASKS[task].numbers)


def candidate_figures(results: Results, scored: Collection[str], chosen_by: Collection[str]) -> list[Quantity]:
    """Return the figures that an answer may be about, the first choice first: the goals' own figure, if there is one.
    Otherwise the figures that sum the study up, and the goals' own tasks, as far as they were scored. Figures with the
    goals' kinds of tasks come first, and among them figures without the tasks whose items chose the recipe."""
    if results.own_figure is not None:
        return [results.own_figure]
    kinds = kinds_of_tasks(needed(results.goals))
    own = [figure for goal in results.goals if (figure := goals_quantity([goal], scored))]
    return sorted(
        [*results.figures, *own],
        key=lambda item: (not kinds & kinds_of_tasks(item.tasks), not item.tasks.isdisjoint(chosen_by)),
    )


def kinds_of_tasks(tasks: Collection[str]) -> frozenset[str]:
    """Return what kinds of output these tasks need from models: classes, scores of pairs, images."""
    return frozenset(kind_of(task).target for task in tasks if task in TASKS)


def plain_quantity(task: str, scores: Mapping[str, Any]) -> Quantity:
    """Return a task's figure by a score for which nothing is fitted, as of cosines; else by the task's main metric."""
    kind = kind_of(task)
    plain = [name for name in kind.unfitted if not name.startswith("dev_") and name in scores]
    number = plain[0] if plain and TASKS[task].metric not in kind.unfitted else TASKS[task].metric
    return Quantity(task, {(task, number): 1.0})


def without_tasks(figure: Quantity, tasks: Collection[str]) -> Quantity:
    """Return the figure without these tasks; unchanged if no other task is left."""
    parts = figure.by_task()
    left = [part for task, part in parts.items() if task not in tasks]
    if len(left) in (0, len(parts)):
        return figure
    weights = {score: weight / len(left) for part in left for score, weight in part.weights.items()}
    return Quantity(f"{figure.name} without {', '.join(sorted(figure.tasks & set(tasks)))}", weights)
