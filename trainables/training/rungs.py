"""Where a training pauses to be scored, so that a scheduler can stop it early, and what is measured there."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from trainables.errors import UserError

Unit = Literal["share", "steps", "tokens", "epochs"]
MEASURES = ("dev_spearman_cosine", "dev_accuracy", "seconds")
"""The development numbers that can be had while a training goes on."""


@dataclass(frozen=True)
class Measure:
    """What is measured at a rung: one number, the mean over the tasks that give it. The higher the better."""

    name: str
    """Of the goal that it stands for."""
    tasks: tuple[str, ...]
    number: str
    """`dev_spearman_cosine`: as at the end. `dev_accuracy`: of a linear probe, which takes milliseconds. `seconds`: of
    training so far, with a minus."""


STS = Measure("sts", ("STSBenchmark",), "dev_spearman_cosine")


@dataclass(frozen=True)
class RungPlan:
    """Rungs: pauses of a training after the first step at which so much of it has been done."""

    unit: Unit
    """`share` of its own steps, or `steps`, `epochs`, or `tokens` that it has seen."""
    at: tuple[float, ...]
    """Rising; shares are below 1, since at the end nothing can be saved. What a training does not reach is left out."""

    def __post_init__(self) -> None:
        rising = all(before < after for before, after in itertools.pairwise(self.at))
        if self.unit not in get_args(Unit) or not self.at or not rising or not 0 < self.at[0] <= self.at[-1] < math.inf:
            raise UserError(f"rungs must be rising numbers above 0 of {', '.join(get_args(Unit))}, not {self}")
        if self.unit == "share" and self.at[-1] >= 1:
            raise UserError(f"rungs as shares of a training must be below 1, its end, not {self}")

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

    def reached(self, step: int, steps: int, an_epoch: int, tokens: float) -> int:
        """How many rungs lie at or below this point of a training."""
        seen = {"share": step / steps, "steps": step, "epochs": step / max(an_epoch, 1), "tokens": tokens}[self.unit]
        return sum(amount <= seen * (1 + 1e-9) for amount in self.at)


DEFAULT = RungPlan("share", (1 / 16, 1 / 8, 1 / 4, 1 / 2))
"""Each rung has seen twice as much as the one before."""


def parse_rungs(text: str) -> RungPlan:
    """`8` (parts of equal size), `share:0.25,0.5`, `steps:100,300`, `epochs:0.5,1`, `tokens:1e6,3e6`; `UserError` for
    anything else."""
    unit, colon, amounts = text.partition(":")
    try:
        if not colon:
            parts = int(text)
            return RungPlan("share", tuple(number / parts for number in range(1, parts)))
        return RungPlan(unit, tuple(map(float, amounts.split(","))))  # type: ignore[arg-type]  # it is checked there
    except (ValueError, UserError):
        raise UserError(
            f"--rungs {text!r} is neither a number of equal parts from 2 on, such as 8, nor rising amounts, such as "
            "share:0.125,0.25,0.5 (below 1), steps:100,300, epochs:0.5,1 or tokens:1e6,3e6"
        ) from None


def plain(rungs: RungPlan, measures: Sequence[Measure]) -> dict[str, Any]:
    """As plain values, for Ray Tune's config and for `study.json`."""
    return {**dataclasses.asdict(rungs), "measures": [dataclasses.asdict(measure) for measure in measures]}


def of_plain(values: Mapping[str, Any]) -> RungPlan:
    """The rungs of such values."""
    return RungPlan(values["unit"], tuple(values["at"]))
