"""The papers' averages by name. They are computed on demand, from the scores of a record.

So a new average needs no new trial. Each paper's averages are in its folder; a plugin adds one with
`AVERAGES.add(Average("mine", cells(("MR", "CR"), "test_accuracy")))`.
"""

from __future__ import annotations

from search_spaces.dehghan2022.averages import DEHGHAN
from search_spaces.giorgi2020.averages import GIORGI
from search_spaces.liao2021.averages import LIAO, STS_AVERAGE, TRANSFER_AVERAGE
from search_spaces.paper import Average, Scores
from search_spaces.qiu2022.averages import QIU
from trainables.registry import Registry

_PAPERS = (*LIAO, *QIU, *GIORGI, *DEHGHAN)
AVERAGES: Registry[Average] = Registry(
    "average",
    *(average for average in _PAPERS if not average.parts),
    *(average for average in _PAPERS if average.parts),
)
"""All averages: first those over tasks, then those over averages. `trials.csv` has them in this order."""

USUAL = (("STS", STS_AVERAGE.name), ("transfer", TRANSFER_AVERAGE.name))
"""Averages of a trial that are shown by default, as label and name: over STS12 to 16, and over 8 transfer tasks."""


def average(name: str, scores: Scores) -> float | None:
    """Return the average of that name; None if one of its scores is missing. Raises `UserError` for an unknown name."""
    return AVERAGES[name].of(scores)


def averages(scores: Scores) -> dict[str, float | None]:
    """Return every average by name; an average is None if one of its scores is missing."""
    return {name: average.of(scores) for name, average in AVERAGES.items()}


def describe(name: str) -> str:
    """Return what the average is over, such as "`test_accuracy` of MR, CR"."""
    average = AVERAGES[name]
    by_number: dict[str, list[str]] = {}
    for task, numbers in average.cells:
        by_number.setdefault(" and ".join(f"`{number}`" for number in numbers), []).append(task)
    over_tasks = [f"{numbers} of {', '.join(tasks)}" for numbers, tasks in by_number.items()]
    parts = " and ".join(f"`{part.name}`" for part in average.parts)
    return "; ".join([*over_tasks, *([parts] if parts else [])])
