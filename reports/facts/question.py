"""What an answer may be about: the figures in question, and the tasks that no fresh item tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from reports.facts.quantity import Quantity, goals_quantity
from reports.facts.results import Results
from search_spaces.goals import needed
from trainables.senteval.tasks import TASKS, kind_of


def has_no_test(task: str) -> bool:
    """Whether its development scores are made from the tested items, as in nested cross-validation, or there are no
    others."""
    splits = kind_of(task).splits
    return (bool(splits) and "test" not in splits) or all(name.startswith("dev_") for name in TASKS[task].numbers)


def in_question(results: Results, scored: Collection[str], chosen_by: Collection[str]) -> list[Quantity]:
    """What an answer may be about, the first choice first: what the goals say that they are judged by. Where that are
    averages, what sums the study up and the goals' own tasks, as far as they were scored; what asks for what the goals
    ask for, and has none of the tasks by whose items was chosen."""
    if results.own_figure is not None:
        return [results.own_figure]
    kinds = kinds_of_tasks(needed(results.goals))
    own = [figure for goal in results.goals if (figure := goals_quantity([goal], scored))]
    return sorted(
        [*results.figures, *own],
        key=lambda item: (not kinds & kinds_of_tasks(item.tasks), not item.tasks.isdisjoint(chosen_by)),
    )


def kinds_of_tasks(tasks: Collection[str]) -> frozenset[str]:
    """What models are asked for in them: classes, scores of pairs, images."""
    return frozenset(kind_of(task).target for task in tasks if task in TASKS)


def plain_quantity(task: str, scores: Mapping[str, Any]) -> Quantity:
    """A task's figure by the number that nothing was fitted for, as of cosines, where it has one; else by the one that
    stands for it."""
    kind = kind_of(task)
    plain = [name for name in kind.unfitted if not name.startswith("dev_") and name in scores]
    number = plain[0] if plain and TASKS[task].metric not in kind.unfitted else TASKS[task].metric
    return Quantity(task, {(task, number): 1.0})


def without(figure: Quantity, tasks: Collection[str]) -> Quantity:
    """The figure of its other tasks alone; as it is where there are none."""
    parts = figure.by_task()
    left = [part for task, part in parts.items() if task not in tasks]
    if len(left) in (0, len(parts)):
        return figure
    weights = {score: weight / len(left) for part in left for score, weight in part.weights.items()}
    return Quantity(f"{figure.name} without {', '.join(sorted(figure.tasks & set(tasks)))}", weights)
