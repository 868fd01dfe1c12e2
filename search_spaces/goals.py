"""What a search looks for: numbers of a record, which are development scores in percent, or what the trial cost.

Whoever shows, compares or ranks by a goal asks it for its value, its test figure, its name, direction and unit. A goal
is an entry of `GOALS`, or a text that `searched` reads:

    mytask                   the development number of a task, as its kind says
    mytask.ndcg@10           another one of its development numbers, here dev_ndcg@10
    mytask*2,other           one goal: the weighted mean of both
    mytask,seconds           two goals at once
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from search_spaces.names import check_score, development_number, refuse_twice
from search_spaces.paper import Scores
from trainables.errors import UserError, choices, did_you_mean, shown
from trainables.registry import Registry
from trainables.senteval.tasks import GROUPS, TASKS, kind_of

Cost = Mapping[str, Any]
"""What a trial cost, as a record holds it: `cost["seconds"]`."""
Score = tuple[str, str]
"""A task and one of its numbers."""


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
    weights: tuple[float, ...] = ()
    """Of the parts; empty where all count the same."""
    cost: str = ""
    """The number of a record's cost that it is, instead of a score."""
    unit: str = "%"
    judged_by: tuple[Score, ...] = ()
    """The test numbers whose mean says how good what was found is; empty takes those of its own tasks."""
    by_averages: bool = False
    """Whether what sums a study up, as a paper's averages do, says that instead, where it asks for the same."""

    def __post_init__(self) -> None:
        where = f"goal {self.name!r}"
        if [bool(self.tasks), bool(self.parts), bool(self.cost)].count(True) != 1:
            raise UserError(f"{where} needs tasks with a number, or parts, or a cost")
        if any(part.cost for part in self.parts) or len(self.weights) not in (0, len(self.parts)):
            raise UserError(f"{where}: its parts must be scores, and have a weight each or none")
        if self.tasks and not self.number:
            object.__setattr__(self, "number", development_number(where, self.tasks))
        for task in self.tasks:
            check_score(where, task, self.number)
        for task, number in self.judged_by:
            check_score(f"{where}, judged_by", task, number)
        if self.tasks and not self.number.startswith("dev_"):
            raise UserError(f"{where}: {_refused(self.tasks[0], self.number)}")

    @property
    def short(self) -> str:
        """`STS` of `STS (Spearman on ...)`."""
        return self.label.split(" (")[0]

    @property
    def lower_is_better(self) -> bool:
        return bool(self.cost)

    @property
    def is_own(self) -> bool:
        """Whether its own test numbers judge it."""
        return bool(self.tested) and not self.by_averages

    @property
    def needs(self) -> frozenset[str]:
        """The tasks of which one must be scored; of a cost none."""
        return frozenset(self.tasks).union(*(part.needs for part in self.parts))

    @property
    def needs_no_test(self) -> bool:
        """Whether its tasks' kinds give it from development parts alone. A cost rests on all that a trial does."""
        own = all(kind_of(task).development == self.number for task in self.tasks)
        return own and not self.cost and all(part.needs_no_test for part in self.parts)

    @property
    def weighted(self) -> list[tuple[Goal, float]]:
        """The parts, each with its weight."""
        return [*zip(self.parts, self.weights or [1.0] * len(self.parts), strict=True)]

    @property
    def tested(self) -> Mapping[Score, float]:
        """The test numbers that say how good what was found is, each with its weight; together 1, of a cost none."""
        return self._shares(lambda goal: goal.judged_by or [(t, _test_number(t, goal.number)) for t in goal.tasks])

    @property
    def looked_at(self) -> Mapping[Score, float]:
        """The development numbers that it is the mean of, likewise."""
        return self._shares(lambda goal: [(task, goal.number) for task in goal.tasks])

    def _shares(self, own: Callable[[Goal], Sequence[Score]]) -> Mapping[Score, float]:
        """Its own scores, each counting the same, or those of its parts by their weights; together 1."""
        shares = [(score, 1.0) for score in own(self)] or [
            (score, weight * share) for part, weight in self.weighted for score, share in part._shares(own).items()
        ]
        whole, together = math.fsum(share for _, share in shares), dict[Score, float]()
        for score, share in shares:
            together[score] = together.get(score, 0.0) + share / whole
        return together

    def of(self, scores: Scores, cost: Cost) -> float | None:
        """None where nothing has it. What is missing leaves the mean, so compare only scores of one task list; but
        parts with weights must all be there."""
        if self.cost:
            value = cost.get(self.cost)
            return float(value) if isinstance(value, int | float) else None
        values = [(scores[task].get(self.number), 1.0) for task in self.tasks if task in scores]
        values += [(part.of(scores, cost), weight) for part, weight in self.weighted]
        return None if self.weights and any(value is None for value, _ in values) else _mean(values)

    def test_of(self, scores: Scores) -> float | None:
        """The same of its test numbers: what `tested` comes to. None where nothing has it, and of a cost."""
        return _mean(
            [(scores[task].get(number), share) for (task, number), share in self.tested.items() if task in scores]
        )

    def upward(self, value: float) -> float:
        """A value of it as a number that is the higher the better: a cost with its sign turned."""
        return -value if self.lower_is_better else value


def _mean(values: Sequence[tuple[float | None, float]]) -> float | None:
    """Of values with their weights, without those that are missing."""
    present = [(value, weight) for value, weight in values if value is not None]
    return fmean(*zip(*present, strict=True)) if present else None


def _test_number(task: str, number: str) -> str:
    """The test number that answers to a development number; else the one that stands for the task."""
    own = number.replace("dev_", "test_", 1)
    return own if own in TASKS[task].numbers else TASKS[task].metric


STS = Goal("sts", "STS (Spearman on the development part of STSBenchmark)", ("STSBenchmark",), by_averages=True)
TRANSFER = Goal(
    "transfer",
    "transfer (mean accuracy on the development parts of the transfer tasks)",
    GROUPS["transfer"],
    by_averages=True,
)
SELECTION = Goal(
    "selection",
    "selection (mean of the goals STS and transfer, of what is there)",
    parts=(STS, TRANSFER),
    by_averages=True,
)
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
    Goal("encode_ms", "encoding (of one sentence, when the tasks are scored)", cost="encode_ms", unit="ms"),
    Goal("embedding_dim", "dimensions (of an embedding)", cost="embedding_dim", unit="numbers"),
)
"""What a space's `goals`, and `--goals`, may name, beside tasks."""


def searched(texts: Sequence[str], where: str = "goals") -> tuple[Goal, ...]:
    """The goals of these texts; without any the selection. Where a score has a weight, all scores are one goal, their
    weighted mean; one without a weight counts 1. `UserError`, which begins with `where`, for what is none."""
    read = [_read(text.strip(), where) for text in texts]
    refuse_twice(f"{where} names a goal twice:", [goal.name for goal, _ in read])
    alike = Counter((goal.tasks, goal.number, goal.parts, goal.cost) for goal, _ in read)
    if alike and max(alike.values()) > 1:
        twice = [goal.name for goal, _ in read if alike[goal.tasks, goal.number, goal.parts, goal.cost] > 1]
        raise UserError(f"{where}: {' and '.join(twice)} are one goal; name it once")
    goals = [goal for goal, _ in read]
    if any(weight for _, weight in read):
        goals = [_joined([(goal, weight or 1.0) for goal, weight in read if not goal.cost])]
        goals += [goal for goal, _ in read if goal.cost]
    return tuple(goals) or (SELECTION,)


def _read(text: str, where: str) -> tuple[Goal, float | None]:
    """A goal, and the weight behind it."""
    if text in GOALS:
        return GOALS[text], None
    if "+" in text:  # as `_joined` calls it
        return _joined(
            [(goal, weight or 1.0) for goal, weight in (_read(part, where) for part in text.split("+"))]
        ), None
    name, star, number = text.partition("*")
    goal = GOALS[name] if name in GOALS else _of_task(name, where)
    if not star:
        return goal, None
    try:
        weight = float(number)
    except ValueError:
        weight = math.nan
    if not 0 < weight < math.inf:
        raise UserError(f"{where}: {shown(text)} needs a number above 0 behind the star, as in {name}*2")
    if goal.cost:
        raise UserError(f"{where}: {name} is a cost, in {goal.unit}, and has no weight among scores; write {name}")
    return goal, weight


def _joined(parts: Sequence[tuple[Goal, float]]) -> Goal:
    """One goal, their weighted mean."""
    goals, weights = zip(*parts, strict=True)
    if len(parts) == 1:
        return parts[0][0]
    name = "+".join(goal.name + f"*{weight:g}" * (weight != 1) for goal, weight in parts)
    shares = " + ".join(f"{weight / math.fsum(weights):.0%} {goal.short}" for goal, weight in parts)
    return Goal(name, f"weighted {shares} (their mean)", parts=goals, weights=weights)


def _of_task(text: str, where: str) -> Goal:
    """Of `TASK` or `TASK.NUMBER`: a development number of it."""
    task, dot, name = text.partition(".")
    if task not in TASKS:
        names = f"there is {choices(map(repr, GOALS))}, or a task, as TASK or TASK.NUMBER"
        raise UserError(
            f"{where}: no goal is called {shown(text)}; {did_you_mean(text, [*GOALS, *TASKS]).rstrip() or names}"
        )
    if not dot:
        name = kind_of(task).development
    numbers = [number for number in TASKS[task].numbers if number.startswith("dev_")]
    number = name if name in numbers else f"dev_{name}"
    if number not in numbers:
        raise UserError(f"{where}: {_refused(task, name)}")
    return Goal(text, f"{text} ({number} of {task})", (task,), number)


def _refused(task: str, number: str) -> str:
    """Why a search must not look at a number of a task, or cannot, and which it may."""
    numbers = TASKS[task].numbers
    may = [name for name in numbers if name.startswith("dev_")]
    own = number.replace("test_", "dev_", 1)
    names = choices(f"{task}.{name.removeprefix('dev_')} ({name})" for name in ([own] if own in may else may))
    instead = f"; take {names}" if may else ""
    if number in numbers:
        none = "" if may else f", and {task} has no other"
        return f"{task}.{number} is a test number, and a search must not look at it{none}{instead}"
    which = f"called dev_{number}" if number and may else "that stands for it" if may else "to look for"
    return f"{task} has no development number {which}{instead}"


def needed(goals: Sequence[Goal]) -> frozenset[str]:
    """The tasks that the goals look at."""
    return frozenset[str]().union(*(goal.needs for goal in goals))


def values_of(goals: Sequence[Goal], scores: Scores, cost: Cost) -> list[float] | None:
    """Every goal's value of a record; None where one is missing."""
    return _complete([goal.of(scores, cost) for goal in goals])


def upward_values(goals: Sequence[Goal], scores: Scores, cost: Cost) -> list[float] | None:
    """The same, each the higher the better."""
    values = values_of(goals, scores, cost)
    return values and [goal.upward(value) for goal, value in zip(goals, values, strict=True)]


def values_at_rung(goals: Sequence[Goal], scores: Mapping[str, float]) -> list[float] | None:
    """Every goal's value among a rung's scores, which go by the goals' names; None where one is missing. The selection
    is scored there by STS alone."""
    own = [*scores.values()] if tuple(goals) == (SELECTION,) else [scores.get(goal.name) for goal in goals]
    return _complete(own) or None


def _complete(values: Sequence[float | None]) -> list[float] | None:
    present = [value for value in values if value is not None]
    return present if len(present) == len(values) else None


def kept_by(goals: Sequence[Goal]) -> tuple[str, ...]:
    """What a training keeps its best weights by, as `optimisation.keep_by` takes it: the mean of the goals' scores, as
    `merit` has it. STS alone stands for the selection, as at a rung, and where all goals are costs."""
    scores = () if tuple(goals) == (SELECTION,) else tuple(goal for goal in goals if not goal.cost)
    shares = Goal("", "", parts=scores or (STS,)).looked_at
    least = min(shares.values())
    return tuple(
        (task if number == kind_of(task).development else f"{task}.{number}")
        + (f"*{share / least:.12g}" if share > least * (1 + 1e-9) else "")
        for (task, number), share in shares.items()
    )


def merit(goals: Sequence[Goal], values: Sequence[float]) -> tuple[float, ...]:
    """What recipes, and trials, of a study are ranked by, the higher the better: the mean of the scores that it looks
    for, and where that is equal its costs. So the best one is on the front of several goals."""
    pairs = [*zip(goals, values, strict=True)]
    scores = [value for goal, value in pairs if not goal.cost]
    costs = [goal.upward(value) for goal, value in pairs if goal.cost]
    return (*([fmean(scores)] if scores else []), *costs)


def place_among(goals: Sequence[Goal], scores: Scores, cost: Cost) -> tuple[float, ...]:
    """Of a trial among others, the higher the better; one without a value of every goal comes last."""
    values = values_of(goals, scores, cost)
    return merit(goals, values) if values else ()


def in_words(goals: Sequence[Goal], scores: Scores, cost: Cost) -> list[tuple[str, float | None]]:
    """What a line of text shows of a record: `dev` and its score where one is searched for, else each goal by name; and
    what judges it, where that is not the averages that are shown anyway."""
    single = len(goals) == 1 and not goals[0].cost
    values = [("dev" if single else goal.name, goal.of(scores, cost)) for goal in goals]
    tested = [("test" if single else f"{goal.name} test", goal.test_of(scores)) for goal in goals if goal.is_own]
    return [*values, *((name, value) for name, value in tested if value is not None)]


def every_score(goals: Sequence[Goal], scores: Scores) -> dict[str, float | None]:
    """By name the goals of `GOALS`, and these, that are scores: what trackers and tables keep of every trial."""
    by_name = {goal.name: goal for goal in (*GOALS.values(), *goals) if not goal.cost}
    return {name: goal.of(scores, {}) for name, goal in by_name.items()}
