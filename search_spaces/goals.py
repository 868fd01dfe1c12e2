"""The goals of a search: numbers of a record, either development scores in percent or costs of the trial.

A goal has a value, a test figure, a name, a direction and a unit. It is an entry of `GOALS`, or a text that `searched`
reads:

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
"""A trial's cost, as in a record: `cost["seconds"]`."""
Score = tuple[str, str]
"""The name of a task, and the name of one of the task's numbers."""


@dataclass(frozen=True)
class Goal:
    """A score or a cost to search for. A score (higher is better) is the mean of one development number over the tasks
    that have it, or of other goals. A cost is better if lower."""

    name: str
    label: str
    """A description for a table's caption. Headings use only the words before the bracket."""
    tasks: tuple[str, ...] = ()
    number: str = ""
    """Name of the tasks' development number, such as `dev_ndcg@10`; empty for the usual one of each task's kind."""
    parts: tuple[Goal, ...] = ()
    weights: tuple[float, ...] = ()
    """Weights of the goals in `parts`; empty if all count the same."""
    cost: str = ""
    """The name of a number in a record's cost, if the goal is a cost; otherwise empty."""
    unit: str = "%"
    judged_by: tuple[Score, ...] = ()
    """Test numbers whose mean judges the search's result; empty means the test numbers of the goal's own tasks."""
    by_averages: bool = False
    """Whether a paper's averages, and not the goal's own test numbers, judge the search's result."""

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
        """The label without its bracket: `STS` if the label is `STS (Spearman on ...)`."""
        return self.label.split(" (")[0]

    @property
    def lower_is_better(self) -> bool:
        return bool(self.cost)

    @property
    def is_own(self) -> bool:
        """Whether test numbers of the goal's own tasks judge the search's result."""
        return bool(self.test_weights) and not self.by_averages

    @property
    def needs(self) -> frozenset[str]:
        """Names of the goal's tasks, of which at least one must be scored; empty for a cost."""
        return frozenset(self.tasks).union(*(part.needs for part in self.parts))

    @property
    def needs_no_test(self) -> bool:
        """Whether its tasks' development splits are enough to compute the goal. A cost depends on the whole trial."""
        own = all(kind_of(task).development == self.number for task in self.tasks)
        return own and not self.cost and all(part.needs_no_test for part in self.parts)

    @property
    def weighted(self) -> list[tuple[Goal, float]]:
        """The goals in `parts`, each with its weight."""
        return [*zip(self.parts, self.weights or [1.0] * len(self.parts), strict=True)]

    @property
    def test_weights(self) -> Mapping[Score, float]:
        """Test numbers that judge the search's result, with weights that sum to 1; empty for a cost."""
        return self._shares(lambda goal: goal.judged_by or [(t, _test_number(t, goal.number)) for t in goal.tasks])

    @property
    def development_weights(self) -> Mapping[Score, float]:
        """Development numbers whose weighted mean is the goal, with weights that sum to 1; empty for a cost."""
        return self._shares(lambda goal: [(task, goal.number) for task in goal.tasks])

    def _shares(self, own: Callable[[Goal], Sequence[Score]]) -> Mapping[Score, float]:
        """Return the scores that `own` returns, with equal weights. If there are none, return the scores of `parts`,
        with the weights of `parts`. All weights sum to 1."""
        shares = [(score, 1.0) for score in own(self)] or [
            (score, weight * share) for part, weight in self.weighted for score, share in part._shares(own).items()
        ]
        whole, together = math.fsum(share for _, share in shares), dict[Score, float]()
        for score, share in shares:
            together[score] = together.get(score, 0.0) + share / whole
        return together

    def of(self, scores: Scores, cost: Cost) -> float | None:
        """Return the goal's value; None if the scores or the cost for it are missing. Missing scores are left out of
        the mean, so compare only scores of one task list. If `parts` have weights, no score may be missing."""
        if self.cost:
            value = cost.get(self.cost)
            return float(value) if isinstance(value, int | float) else None
        values = [(scores[task].get(self.number), 1.0) for task in self.tasks if task in scores]
        values += [(part.of(scores, cost), weight) for part, weight in self.weighted]
        return None if self.weights and any(value is None for value, _ in values) else _mean(values)

    def test_of(self, scores: Scores) -> float | None:
        """Return the weighted mean of the test numbers in `test_weights`; None for a cost, or if all are missing."""
        return _mean(
            [(scores[task].get(number), share) for (task, number), share in self.test_weights.items() if task in scores]
        )

    def upward(self, value: float) -> float:
        """Return a value of the goal so that higher is better: the negative of a cost."""
        return -value if self.lower_is_better else value


def _mean(values: Sequence[tuple[float | None, float]]) -> float | None:
    """Return the mean of (value, weight) pairs, without missing values; None if all are missing."""
    present = [(value, weight) for value, weight in values if value is not None]
    return fmean(*zip(*present, strict=True)) if present else None


def _test_number(task: str, number: str) -> str:
    """Return the test number that matches a development number; or else the task's main metric."""
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
"""The goal of a study whose space and command name none."""
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
"""Goals that a space's `goals`, and `--goals`, may name; tasks may be named too."""


def searched(texts: Sequence[str], where: str = "goals") -> tuple[Goal, ...]:
    """Return the goals of these texts; without texts return `SELECTION`. If a score has a weight, all scores become one
    goal, their weighted mean; a score without a weight has the weight 1. Raises `UserError`, whose message starts with
    `where`, for an invalid text."""
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
    """Return the goal that a text names, and the weight after `*`; None if the text has no weight."""
    if text in GOALS:
        return GOALS[text], None
    if "+" in text:  # a name made by `_joined`
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
    """Return one goal that is the weighted mean of these goals."""
    goals, weights = zip(*parts, strict=True)
    if len(parts) == 1:
        return parts[0][0]
    name = "+".join(goal.name + f"*{weight:g}" * (weight != 1) for goal, weight in parts)
    shares = " + ".join(f"{weight / math.fsum(weights):.0%} {goal.short}" for goal, weight in parts)
    return Goal(name, f"weighted {shares} (their mean)", parts=goals, weights=weights)


def _of_task(text: str, where: str) -> Goal:
    """Return the goal for the text `TASK` or `TASK.NUMBER`, where NUMBER names a development number."""
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
    """Return a message: why a search must not or cannot use this number of a task, and which numbers it may use."""
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
    """Return the tasks that the goals need."""
    return frozenset[str]().union(*(goal.needs for goal in goals))


def values_of(goals: Sequence[Goal], scores: Scores, cost: Cost) -> list[float] | None:
    """Return every goal's value for a record; None if one is missing."""
    return _complete([goal.of(scores, cost) for goal in goals])


def upward_values(goals: Sequence[Goal], scores: Scores, cost: Cost) -> list[float] | None:
    """Return every goal's value with higher as better; None if one is missing."""
    values = values_of(goals, scores, cost)
    return values and [goal.upward(value) for goal, value in zip(goals, values, strict=True)]


def values_at_rung(goals: Sequence[Goal], scores: Mapping[str, float]) -> list[float] | None:
    """Return every goal's value from a rung's scores by goal name; None if one is missing. At a rung, `SELECTION` is
    STS alone."""
    own = [*scores.values()] if tuple(goals) == (SELECTION,) else [scores.get(goal.name) for goal in goals]
    return _complete(own) or None


def _complete(values: Sequence[float | None]) -> list[float] | None:
    present = [value for value in values if value is not None]
    return present if len(present) == len(values) else None


def kept_by(goals: Sequence[Goal]) -> tuple[str, ...]:
    """Return the numbers that choose a training's best weights (`optimisation.keep_by`): the mean of the goals' scores,
    as in `merit`. For `SELECTION`, and if all goals are costs, it is STS alone, as at a rung."""
    scores = () if tuple(goals) == (SELECTION,) else tuple(goal for goal in goals if not goal.cost)
    shares = Goal("", "", parts=scores or (STS,)).development_weights
    least = min(shares.values())
    return tuple(
        (task if number == kind_of(task).development else f"{task}.{number}")
        + (f"*{share / least:.12g}" if share > least * (1 + 1e-9) else "")
        for (task, number), share in shares.items()
    )


def merit(goals: Sequence[Goal], values: Sequence[float]) -> tuple[float, ...]:
    """Return a sort key for a study's recipes and trials, higher is better: the mean of the score goals, then the
    costs. So the recipe with the highest key is on the Pareto front of several goals."""
    pairs = [*zip(goals, values, strict=True)]
    scores = [value for goal, value in pairs if not goal.cost]
    costs = [goal.upward(value) for goal, value in pairs if goal.cost]
    return (*([fmean(scores)] if scores else []), *costs)


def ranking_key(goals: Sequence[Goal], scores: Scores, cost: Cost) -> tuple[float, ...]:
    """Return a trial's sort key, higher is better. A trial that lacks a goal's value is last."""
    values = values_of(goals, scores, cost)
    return merit(goals, values) if values else ()


def in_words(goals: Sequence[Goal], scores: Scores, cost: Cost) -> list[tuple[str, float | None]]:
    """Return names and values for a line of text about a record. A single score goal is named `dev`; otherwise each
    goal has its own name. Test values are added if a goal's own tests judge it."""
    single = len(goals) == 1 and not goals[0].cost
    values = [("dev" if single else goal.name, goal.of(scores, cost)) for goal in goals]
    tested = [("test" if single else f"{goal.name} test", goal.test_of(scores)) for goal in goals if goal.is_own]
    return [*values, *((name, value) for name, value in tested if value is not None)]


def every_score(goals: Sequence[Goal], scores: Scores) -> dict[str, float | None]:
    """Return the values of all score goals in `GOALS` and `goals`, by name, which trackers and tables store."""
    by_name = {goal.name: goal for goal in (*GOALS.values(), *goals) if not goal.cost}
    return {name: goal.of(scores, {}) for name, goal in by_name.items()}
