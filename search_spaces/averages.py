"""The papers' averages by name. They are computed when asked, from the scores that a record holds.

So a new average needs no new trial. Each paper's own stand in its folder; a plugin adds one with
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
"""Every average: those over tasks, then those over averages. `trials.csv` has them in this order."""

USUAL = (("STS", STS_AVERAGE.name), ("transfer", TRANSFER_AVERAGE.name))
"""What is shown of a trial where a space says nothing else: STS12 to 16, and SentEval's eight transfer tasks."""


def average(name: str, scores: Scores) -> float | None:
    """The average of that name; None where one of its scores is missing. `UserError` for an unknown name."""
    return AVERAGES[name].of(scores)


def averages(scores: Scores) -> dict[str, float | None]:
    """Every average by name; None where one of its scores is missing."""
    return {name: average.of(scores) for name, average in AVERAGES.items()}


def describe(name: str) -> str:
    """What an average is the mean of: "`test_accuracy` of MR, CR"."""
    average = AVERAGES[name]
    by_number: dict[str, list[str]] = {}
    for task, numbers in average.cells:
        by_number.setdefault(" and ".join(f"`{number}`" for number in numbers), []).append(task)
    over_tasks = [f"{numbers} of {', '.join(tasks)}" for numbers, tasks in by_number.items()]
    parts = " and ".join(f"`{part.name}`" for part in average.parts)
    return "; ".join([*over_tasks, *([parts] if parts else [])])
