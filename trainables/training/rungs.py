"""Where a training pauses to be scored, so that a scheduler can stop it early, and what is measured there."""

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
"""Of equal size, that `--rungs` may cut a training into; a slip of the finger has more."""


@dataclass(frozen=True)
class Measure:
    """What is measured at a rung: one number, the mean over the tasks that give it, or of other measures. The higher
    the better."""

    name: str
    """Of the goal that it stands for."""
    tasks: tuple[str, ...] = ()
    number: str = ""
    """Of a task: the one that its kind has while a training goes on (`TaskKind.development`), such as
    `dev_spearman_cosine`, as at the end, or `dev_accuracy`, of a linear probe. `seconds`: of training so far, with a
    minus."""
    parts: tuple[tuple[Measure, float], ...] = ()
    """Those whose weighted mean it is, with their weights."""

    @property
    def ends(self) -> tuple[Measure, ...]:
        """Those of tasks that it is made of."""
        return tuple(end for part, _ in self.parts for end in part.ends) or (self,)

    @property
    def needs(self) -> tuple[str, ...]:
        """All tasks that it is made of."""
        return tuple(task for end in self.ends for task in end.tasks)

    def of(self, scores: Mapping[str, float | None]) -> float | None:
        """From development scores by `TASK.NUMBER`, of those that are there; None without any."""
        terms = [(scores.get(f"{task}.{self.number}"), 1.0) for task in self.tasks]
        terms += [(part.of(scores), weight) for part, weight in self.parts]
        measured = [(value, weight) for value, weight in terms if value is not None]
        return fmean(*zip(*measured, strict=True)) if measured else None


STS = Measure("sts", ("STSBenchmark",), "dev_spearman_cosine")


@dataclass(frozen=True)
class RungPlan:
    """Rungs: pauses of a training after the first step at which so much of it has been done."""

    unit: Unit
    """`share` of its own steps, or `steps`, `epochs`, or `tokens` that it has seen."""
    at: tuple[float, ...]
    """Rising; shares are below 1, since at the end nothing can be saved. What a training does not reach is left out."""
    measures: tuple[Measure, ...] = (STS,)
    """What is measured there."""

    def __post_init__(self) -> None:
        rising = all(before < after for before, after in itertools.pairwise(self.at))
        if self.unit not in get_args(Unit) or not self.at or not rising or not 0 < self.at[0] <= self.at[-1] < math.inf:
            raise UserError(f"rungs must be rising numbers above 0 of {', '.join(get_args(Unit))}, not {str(self)!r}")
        if self.unit == "share" and self.at[-1] >= 1:
            raise UserError(f"rungs as shares of a training must be below 1, its end, not {str(self)!r}")

    def __str__(self) -> str:
        """As `--rungs` takes it."""
        return f"{self.unit}:{','.join(f'{amount:.12g}' for amount in self.at)}"

    @property
    def ladder(self) -> tuple[float, ...]:
        """How much each rung has seen, and after the last one the end of a training. The end of those that differ in
        length is set as far above the last rung as that is above the one before."""
        if self.unit == "share":
            return (*self.at, 1.0)
        step = self.at[-1] / self.at[-2] if len(self.at) > 1 else 2.0
        return (*self.at, self.at[-1] * step)

    def in_steps(self, an_epoch: int) -> RungPlan:
        """The same with steps instead of epochs, which have so many."""
        if self.unit != "epochs":
            return self
        return dataclasses.replace(self, unit="steps", at=tuple(epochs * an_epoch for epochs in self.at))

    def reached(self, step: int, steps: int, tokens: float) -> int:
        """How many rungs a training of that many steps has reached after one of them, with that many tokens seen."""
        spent = {"share": step / steps, "steps": step, "tokens": tokens}[self.unit]
        return sum(amount <= spent * (1 + 1e-9) for amount in self.at)  # shares are seldom exact


DEFAULT = RungPlan("share", (1 / 8, 1 / 4, 1 / 2))
"""Each rung has seen twice as much as the one before."""


def parse_rungs(text: str) -> RungPlan:
    """`8` (parts of equal size), `share:0.25,0.5`, `steps:100,300`, `epochs:0.5,1`, `tokens:1e6,3e6`; `UserError` for
    anything else."""
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
