"""What a search looks for: numbers of a record, which are development scores in percent, or what the trial cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from search_spaces.names import check_score, development_number
from search_spaces.paper import Scores
from trainables.errors import UserError
from trainables.registry import Registry
from trainables.senteval.tasks import GROUPS, kind_of

Cost = Mapping[str, Any]
"""What a trial cost, as a record holds it: `cost["seconds"]`."""


@dataclass(frozen=True)
class Goal:
    """A score, which is the higher the better: the mean of one development number over the tasks that have it, or of
    other goals. Or a cost, which is the lower the better.
    """

    name: str
    label: str
    """What it is, for a table's caption; the words before a bracket stand for it in headings."""
    tasks: tuple[str, ...] = ()
    number: str = ""
    """Of the tasks; empty takes the development number that the kind of each has."""
    parts: tuple[Goal, ...] = ()
    cost: str = ""
    """The number of a record's cost that it is, instead of a score."""
    unit: str = "%"

    def __post_init__(self) -> None:
        if [bool(self.tasks), bool(self.parts), bool(self.cost)].count(True) != 1:
            raise UserError(f"goal {self.name!r} needs tasks with a number, or parts, or a cost")
        if self.tasks and not self.number:
            object.__setattr__(self, "number", development_number(f"goal {self.name!r}", self.tasks))
        for task in self.tasks:
            check_score(f"goal {self.name!r}", task, self.number)

    @property
    def short(self) -> str:
        """`STS` of `STS (Spearman on ...)`."""
        return self.label.split(" (")[0]

    @property
    def lower_is_better(self) -> bool:
        return bool(self.cost)

    @property
    def needs(self) -> frozenset[str]:
        """The tasks of which one must be scored; of a cost none."""
        return frozenset(self.tasks).union(*(part.needs for part in self.parts))

    @property
    def needs_no_test(self) -> bool:
        """Whether its tasks' kinds give it from development parts alone. A cost rests on all that a trial does."""
        own = all(kind_of(task).development == self.number for task in self.tasks)
        return own and not self.cost and all(part.needs_no_test for part in self.parts)

    def of(self, scores: Scores, cost: Cost) -> float | None:
        """None where nothing has it. What is missing leaves the mean, so compare only scores of one task list."""
        if self.cost:
            value = cost.get(self.cost)
            return float(value) if isinstance(value, int | float) else None
        values = [scores[task].get(self.number) for task in self.tasks if task in scores]
        values += [part.of(scores, cost) for part in self.parts]
        there = [value for value in values if value is not None]
        return fmean(there) if there else None

    def upward(self, value: float) -> float:
        """A value of it as a number that is the higher the better: a cost with its sign turned."""
        return -value if self.lower_is_better else value


STS = Goal("sts", "STS (Spearman on the development part of STSBenchmark)", ("STSBenchmark",))
TRANSFER = Goal(
    "transfer", "transfer (mean accuracy on the development parts of the transfer tasks)", GROUPS["transfer"]
)
SELECTION = Goal("selection", "selection (mean of the goals STS and transfer, of what is there)", parts=(STS, TRANSFER))
"""What a study without goals maximises."""
GOALS = Registry(
    "goal",
    STS,
    TRANSFER,
    SELECTION,
    Goal("seconds", "seconds (of a trial, training and evaluation)", cost="seconds", unit="s"),
    Goal(
        "peak_memory_mb",
        "peak memory (of a trial, above what its process had before it; of the GPU where there is one)",
        cost="peak_memory_mb",
        unit="MiB",
    ),
)
"""What a space's `goals`, and `--goals`, may name."""


def searched(names: Sequence[str]) -> tuple[Goal, ...]:
    """The goals of these names; without any the selection."""
    return tuple(GOALS[name] for name in names) or (SELECTION,)


def needed(goals: Sequence[Goal]) -> frozenset[str]:
    """The tasks that the goals look at."""
    return frozenset[str]().union(*(goal.needs for goal in goals))


def values_of(goals: Sequence[Goal], scores: Scores, cost: Cost) -> list[float] | None:
    """Every goal's value of a record; None where one is missing."""
    found = [goal.of(scores, cost) for goal in goals]
    there = [value for value in found if value is not None]
    return there if len(there) == len(found) else None


def upward_values(goals: Sequence[Goal], scores: Scores, cost: Cost) -> list[float] | None:
    """The same, each the higher the better."""
    values = values_of(goals, scores, cost)
    return values and [goal.upward(value) for goal, value in zip(goals, values, strict=True)]


def values_at_rung(goals: Sequence[Goal], scores: Mapping[str, float]) -> list[float] | None:
    """Every goal's value among a rung's scores, which go by the goals' names; None where one is missing. What the
    selection is the mean of is scored there by itself."""
    found = [*scores.values()] if tuple(goals) == (SELECTION,) else [scores.get(goal.name) for goal in goals]
    there = [value for value in found if value is not None]
    return there if there and len(there) == len(found) else None


def merit(goals: Sequence[Goal], values: Sequence[float]) -> tuple[float, ...]:
    """What recipes, and trials, of a study are ranked by, the higher the better: the mean of the scores that it looks
    for, and where that is equal its costs. So the best one is on the front of several goals."""
    pairs = [*zip(goals, values, strict=True)]
    scores = [value for goal, value in pairs if not goal.cost]
    costs = [goal.upward(value) for goal, value in pairs if goal.cost]
    return (*([fmean(scores)] if scores else []), *costs)


def in_words(goals: Sequence[Goal], scores: Scores, cost: Cost) -> list[tuple[str, float | None]]:
    """What a line of text shows of a record: `dev` and its score where one is searched for, else each goal by name."""
    one = len(goals) == 1 and not goals[0].cost
    return [("dev" if one else goal.name, goal.of(scores, cost)) for goal in goals]
