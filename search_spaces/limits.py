"""The limits of `--limit NAME=NUMBER`: on the total cost of a study, or on the cost of each trial.

No trial begins that would exceed a limit of the study. A trial that exceeds a limit of each trial is kept, scored and
reported. But a recipe above such a limit, in the mean over its seeds, is never the best, nor on the Pareto front. A
limit of your own, in a file given by `--plugin`:

    LIMITS.add(Limit("threads", "threads of each trial", lambda cost: cost.get("threads")))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from search_spaces.goals import Cost
from trainables.errors import UserError, point_hint
from trainables.registry import Registry


@dataclass(frozen=True)
class Limit:
    """A cost that may be limited."""

    name: str
    meaning: str
    """A few words on the limited number."""
    of: Callable[[Cost], float | None]
    """Returns this cost from a record's cost; None if it was not measured."""
    whole: bool = False
    """Whether the limit is for the sum over all trials of a study, and not for each trial."""
    unit: str = ""
    needs_gpu: bool = False
    clock: bool = False
    """Whether the cost is elapsed time. A study's cost is then the same however many trials run at once, and a trial's
    cost is its duration."""


def _measured(name: str, per: float = 1) -> Callable[[Cost], float | None]:
    """Return a function that returns the number `name` of a record's cost, divided by `per`."""

    def of(cost: Cost) -> float | None:
        value = cost.get(name)
        return value / per if isinstance(value, int | float) else None

    return of


def _worker_hours(cost: Cost) -> float | None:
    seconds = _measured("seconds")(cost)
    return None if seconds is None else seconds * (_measured("workers")(cost) or 1) / 3600


LIMITS = Registry(
    "limit",
    Limit(
        "minutes",
        "minutes of the whole study, earlier runs too",
        _measured("seconds", 60),
        whole=True,
        unit="min",
        clock=True,
    ),
    Limit(
        "gpu_hours",
        "hours of GPUs, all trials of the study",
        _measured("gpu_seconds", 3600),
        whole=True,
        unit="h",
        needs_gpu=True,
    ),
    Limit("worker_hours", "hours of workers, all trials of the study", _worker_hours, whole=True, unit="h"),
    Limit("seconds", "seconds of each trial", _measured("seconds"), unit="s"),
    Limit("peak_memory_mb", "peak memory of each trial", _measured("peak_memory_mb"), unit="MiB"),
)


def parse_limits(texts: Sequence[str]) -> dict[str, float]:
    """Return `["gpu_hours=20", "seconds=600"]` as numbers by name; `UserError` for an invalid or repeated limit."""
    limits: dict[str, float] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not equals or not 0 < number < math.inf:
            hint = point_hint(value)
            raise UserError(f"--limit {text!r} is not NAME=NUMBER with a number above 0, such as gpu_hours=20{hint}")
        limit = LIMITS[name]
        if name in limits:
            raise UserError(f"--limit {limit.name} is there twice; give one number")
        limits[name] = number
    return limits


def rounded_up(number: float) -> float:
    """Return the number, rounded up as people type a limit: to a whole number above 10, else to one decimal."""
    return math.ceil(number) if number > 10 else math.ceil(10 * number) / 10


def bounds_study(texts: Sequence[str]) -> bool:
    """Return whether a limit is for a whole study. Limits that plugins define are not known yet, and do not count."""
    names = {text.partition("=")[0] for text in texts}
    return any(limit.whole for name, limit in LIMITS.items() if name in names)


def of_trials(limits: Mapping[str, float]) -> dict[str, float]:
    """Return those of the limits that hold for each trial."""
    return {name: number for name, number in limits.items() if not LIMITS[name].whole}


def of_study(limits: Mapping[str, float]) -> dict[str, float]:
    """Return those of the limits that hold for the whole study."""
    return {name: number for name, number in limits.items() if LIMITS[name].whole}


def exceeded(limits: Mapping[str, float], costs: Sequence[Cost]) -> dict[str, float]:
    """Return the exceeded limits of trials by name, each with its mean cost over the trials of `costs`. A cost that was
    not measured exceeds no limit."""
    means = {}
    for name, number in of_trials(limits).items():
        values = [value for cost in costs if (value := LIMITS[name].of(cost)) is not None]
        if values and fmean(values) > number:
            means[name] = fmean(values)
    return means


def ended_in_words(ended: Mapping[str, Any], raced: bool = False) -> str:
    """Return `StudyInfo.limited` in words: `the limit gpu_hours=2 ended the study: 1.93 h were spent, a trial takes
    about ...`; or, for a limit of time, `the limit minutes=15 ended the study after 12.4 min, ...`.

    `raced`: whether recipes raced for their seeds. Only an upper bound of the missing trials is known then.
    """
    limit, a_trial, left_out = LIMITS[ended["limit"]], ended["a_trial"], ended["left_out"]
    begin, unit = f"the limit {ended['limit']}={ended['number']:g} ended the study", limit.unit
    if limit.clock:
        room = ", as no further trial had time" if ended["spent"] < ended["number"] else ""
        return (
            f"{begin} after {round(ended['spent'], 1):g} {unit}{room}; the same command with a larger --limit goes on"
        )
    guess = f", a trial takes about {a_trial:.3g} {unit}" if a_trial else ""
    most = "up to " if raced else ""
    left = f", and {most}{left_out:,} trial{'' if left_out == 1 else 's'} did not begin" if left_out else ""
    return (
        f"{begin}: {ended['spent']:.3g} {unit} were spent{guess}{left}; the same command with a larger --limit goes on"
    )


def violations(limits: Mapping[str, float], cost: Cost) -> list[float] | None:
    """Return, for every limit of each trial, by which share of the limit the trial exceeds it: 0 or less if it does
    not, or if its cost was not measured. None if there are no such limits."""
    own = of_trials(limits)
    parts = [(LIMITS[name].of(cost), number) for name, number in own.items()]
    return [0.0 if part is None else part / number - 1 for part, number in parts] or None
