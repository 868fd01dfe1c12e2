"""Rungs: the pauses of a training, where it is scored so that a scheduler can stop it early, and their measures."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, cast, get_args

from trainables.errors import UserError

Unit = Literal["share", "steps", "tokens", "epochs"]
MOST_PARTS = 1000
"""Most parts of equal size into which `--rungs` may divide a training. A larger number is a typing error."""


@dataclass(frozen=True)
class Measure:
    """A number measured at a rung: a mean over tasks, or a weighted mean of other measures. Higher is better."""

    name: str
    """The name of the goal that the measure stands for."""
    tasks: tuple[str, ...] = ()
    number: str = ""
    """The development number of the tasks' kind during training (`TaskKind.development`): `dev_spearman_cosine`, the
    same as at the end, or `dev_accuracy`, from a linear probe. `seconds`: seconds of training so far, negated."""
    parts: tuple[tuple[Measure, float], ...] = ()
    """The measures of a weighted mean, with their weights."""

    @property
    def leaves(self) -> tuple[Measure, ...]:
        """The measures without parts that this measure is made of."""
        return tuple(leaf for part, _ in self.parts for leaf in part.leaves) or (self,)

    @property
    def all_tasks(self) -> tuple[str, ...]:
        """All tasks of the measure and of its parts."""
        return tuple(task for leaf in self.leaves for task in leaf.tasks)

    def of(self, scores: Mapping[str, float | None]) -> float | None:
        """Return the measure from development scores by `TASK.NUMBER`, of those that exist; None if none does."""
        terms = [(scores.get(f"{task}.{self.number}"), 1.0) for task in self.tasks]
        terms += [(part.of(scores), weight) for part, weight in self.parts]
        measured = [(value, weight) for value, weight in terms if value is not None]
        return fmean(*zip(*measured, strict=True)) if measured else None


STS = Measure("sts", ("STSBenchmark",), "dev_spearman_cosine")


@dataclass(frozen=True)
class RungPlan:
    """Rungs: pauses of a training, each after the first step at which an amount of the training is done."""

    unit: Unit
    """Unit of `amounts`: `share` of the training's own steps, or `steps`, `epochs` or `tokens`."""
    amounts: tuple[float, ...]
    """Rising amounts. Shares are below 1, as stopping at the end saves nothing. Amounts never reached are ignored."""
    measures: tuple[Measure, ...] = (STS,)

    def __post_init__(self) -> None:
        rising = all(before < after for before, after in itertools.pairwise(self.amounts))
        if (
            self.unit not in get_args(Unit)
            or not self.amounts
            or not rising
            or not 0 < self.amounts[0] <= self.amounts[-1] < math.inf
        ):
            raise UserError(f"rungs must be rising numbers above 0 of {', '.join(get_args(Unit))}, not {str(self)!r}")
        if self.unit == "share" and self.amounts[-1] >= 1:
            raise UserError(f"rungs as shares of a training must be below 1, its end, not {str(self)!r}")

    def __str__(self) -> str:
        """Return the text that `--rungs` reads."""
        return f"{self.unit}:{','.join(f'{amount:.12g}' for amount in self.amounts)}"

    @property
    def ladder(self) -> tuple[float, ...]:
        """The amounts of all rungs, then of a whole training: 1 for shares. For other units, as trainings differ in
        length, the last rung times the ratio of the last two rungs (times 2 for a single rung)."""
        if self.unit == "share":
            return (*self.amounts, 1.0)
        step = self.amounts[-1] / self.amounts[-2] if len(self.amounts) > 1 else 2.0
        return (*self.amounts, self.amounts[-1] * step)

    def in_steps(self, an_epoch: int) -> RungPlan:
        """Return the plan in steps if it is in epochs of `an_epoch` steps each, else the plan itself."""
        if self.unit != "epochs":
            return self
        return dataclasses.replace(self, unit="steps", amounts=tuple(epochs * an_epoch for epochs in self.amounts))

    def reached(self, step: int, steps: int, tokens: float) -> int:
        """Return how many rungs are reached after step `step` of `steps`, when `tokens` tokens were seen."""
        spent = {"share": step / steps, "steps": step, "tokens": tokens}[self.unit]
        return sum(amount <= spent * (1 + 1e-9) for amount in self.amounts)  # shares are rarely exact


DEFAULT_RUNGS = RungPlan("share", (1 / 8, 1 / 4, 1 / 2))
"""The default rungs. Each is at twice the amount of the rung before."""


def parse_rungs(text: str) -> RungPlan:
    """Return the plan that a text means: `8` (parts of equal size), `share:0.25,0.5`, `steps:100,300`, `epochs:0.5,1`
    or `tokens:1e6,3e6`. Raises `UserError` for other text."""
    unit, colon, amounts = text.partition(":")
    try:
        if not colon:
            parts = int(text)
            if parts > MOST_PARTS:
                raise ValueError
            return RungPlan("share", tuple(number / parts for number in range(1, parts)))
        return RungPlan(cast(Unit, unit), tuple(map(float, amounts.split(","))))
    except (ValueError, UserError):
        raise UserError(
            f"--rungs {text!r} is neither a number of equal parts from 2 to {MOST_PARTS:,}, such as 8, nor rising "
            "amounts, such as share:0.125,0.25,0.5 (below 1), steps:100,300, epochs:0.5,1 or tokens:1e6,3e6"
        ) from None
