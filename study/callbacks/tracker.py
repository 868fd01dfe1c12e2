"""Base of all experiment trackers: a run per trial, with its name, its recipe, and all measured numbers."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from reports.ledger import Record, StudyInfo
from search_spaces.averages import averages
from search_spaces.goals import Goal, every_score
from study.callbacks.base import Callback
from study.cli.terminal import printable
from study.plan import Plan
from study.trial import Trial

LONGEST_NAME = 120
"""Most characters of a trial's name in a tracker. Weights & Biases allows 128."""
NO_SCORES = ("examples", "seconds", "reason")
"""Entries of a task in a record that are not scores."""


class TrackerRun:
    """A trial's run in a tracker, used until the trial ends."""

    step: int = 0
    """The training step that was reported last."""

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Log numbers by name, all at one training step."""
        raise NotImplementedError

    def end(self, status: str, reason: str) -> None:
        """End the run. `status`: `finished`, `pruned`, `failed` or `interrupted`."""
        raise NotImplementedError


R = TypeVar("R", bound=TrackerRun)


class Tracker(Callback, Generic[R]):
    """Opens a run for every trial, and passes the trial's events to the run."""

    def __init__(self, goals: Sequence[Goal]) -> None:
        """`goals`: the study's goals."""
        self.goals = goals
        self.runs: dict[str, R] = {}
        """Open runs by trial key."""

    def open(self, trial: Trial) -> R:
        """Return the trial's run. If an earlier run of the study began the trial, its tracker run is continued."""
        raise NotImplementedError

    def started(self, trials: Sequence[Trial]) -> None:
        for trial in trials:
            self._run(trial)

    def step(self, trial: Trial, step: int, steps: int, scalars: Mapping[str, float]) -> None:
        run = self._run(trial)
        if step > run.step:  # a step that is repeated after an interruption is logged already
            run.log({f"train/{name}": value for name, value in scalars.items()}, step)
            run.step = step

    def rung(self, trial: Trial, number: int, scores: Mapping[str, float]) -> None:
        run = self._run(trial)
        run.log(rung_metrics(number, scores), run.step)

    def finished(self, trial: Trial, record: Record) -> None:
        run = self._run(trial)
        run.log(measured(record, self.goals), run.step)
        self._end(trial.key, record.status, str(record.training.get("stopped") or ""))

    def failed(self, trial: Trial, reason: str) -> None:
        self._run(trial)
        self._end(trial.key, "failed", reason)

    def close(self) -> None:
        for key in list(self.runs):
            self._end(key, "interrupted", "the study was stopped; run it again to continue")

    def _run(self, trial: Trial) -> R:
        if trial.key not in self.runs:
            self.runs[trial.key] = self.open(trial)
        return self.runs[trial.key]

    def _end(self, key: str, status: str, reason: str) -> None:
        self.runs.pop(key).end(status, printable(reason))


def name_of(trial: Trial) -> str:
    """Return the trial's name in lists: its label and its seed."""
    label = printable(trial.name)
    ending = f" seed {trial.seed}"
    room = LONGEST_NAME - len(ending)
    return (label if len(label) <= room else label[: room - 1] + "…") + ending


def parameters(trial: Trial) -> dict[str, str | int | float | bool]:
    """Return the flat recipe, its evaluation and the seed. Keys with value None are left out; tuples become text."""
    values = {"label": printable(trial.name), "seed": trial.seed, **trial.recipe.flat(), **trial.evaluation.flat()}
    return {
        key: ", ".join(map(str, value)) if isinstance(value, tuple | list) else value
        for key, value in values.items()
        if value is not None
    }


def study_of(plan: Plan) -> str:
    """Return a text that identifies the study, and differs from the text of an earlier study in the same folder. It
    stays the same if the study is continued."""
    return f"{plan.location.address_of('')} {StudyInfo.load(plan.results).created_at}"


def group_of(plan: Plan) -> str:
    """Return a readable name of the study: its results folder, and when the study was begun."""
    return printable(f"{plan.results.name} {StudyInfo.load(plan.results).created_at}")[-LONGEST_NAME:]


def trial_id(study: str, key: str) -> str:
    """Return sixteen hexadecimal digits that identify a trial of that study."""
    return hashlib.sha256(f"{study} {key}".encode()).hexdigest()[:16]


def rung_metrics(number: int, scores: Mapping[str, float]) -> dict[str, float]:
    """Return `development/rung` and `development/score`; for each of several goals `development/score/GOAL`."""
    several = len(scores) > 1
    return {
        "development/rung": number,
        **{f"development/score/{goal}" if several else "development/score": score for goal, score in scores.items()},
    }


def measured(record: Record, goals: Sequence[Goal] = ()) -> dict[str, float]:
    """Return all finite numbers of a record by name: `MR/test_accuracy`, `average/liao_sts`, `development/selection`
    and every other goal, `test/mine` of goals with their own test, `geometry/anisotropy`,
    `training/negatives_per_anchor`, `cost/gpu_seconds`."""
    scores = {
        task: {name: value for name, value in numbers.items() if name not in NO_SCORES}
        for task, numbers in record.scores.items()
    }
    tree: dict[str, Any] = {
        **scores,
        "average": averages(record.scores),
        "development": every_score(goals, record.scores),
        "test": {goal.name: goal.test_of(record.scores) for goal in goals if goal.is_own},
        "geometry": record.geometry,
        "training": record.training,
        "cost": record.cost,
    }
    return dict(_numbers(tree))


def _numbers(tree: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, float]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{before}{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            yield before + name, float(value)
